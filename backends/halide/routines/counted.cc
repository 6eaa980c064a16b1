// Elements that their values choose: places of those that are not zero, slices that a condition takes,
// distinct elements. How many there are is known only then, and put before them (abi/counted.h).
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backends/halide/abi/counted.h"
#include "backends/halide/routines/routine.h"

namespace intarsia::halide::routines {
namespace {

constexpr int max_axes = 16;

/// Returns the address of the first element after the header, into which it writes the count.
uint8_t* set_count(const HalideBuffer& output, int64_t count) {
  std::memcpy(output.host, &count, sizeof(count));
  return output.host + counted_header;
}

bool is_empty(const HalideBuffer& buffer) {
  for (int axis = 0; axis < buffer.dimensions; ++axis)
    if (buffer.dim[axis].extent == 0) return true;
  return false;
}

/// Calls visit(row, index) for each row along the last axis, in row-major order, with the address of its
/// first element and the index of that.
template <typename Visit>
void visit_rows(const HalideBuffer& x, const Visit& visit) {
  if (is_empty(x)) return;
  int64_t index[max_axes] = {};
  const int64_t bytes = x.type.bits / 8;
  for (int axis = 0; axis >= 0;) {
    int64_t offset = 0;
    for (int i = 0; i + 1 < x.dimensions; ++i) offset += index[i] * x.dim[i].stride;
    visit(x.host + offset * bytes, index);
    for (axis = x.dimensions - 2; axis >= 0 && ++index[axis] == x.dim[axis].extent; --axis) index[axis] = 0;
  }
}

/// Copies elements that are `stride` elements apart, one after the other.
void copy_elements(uint8_t* to, const uint8_t* from, int64_t count, int64_t stride, int64_t bytes) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * bytes, from + i * stride * bytes, static_cast<size_t>(bytes));
}

/// Writes the places of true elements: all of the first axis, then all of the next, or one after the other.
template <bool as_rows>
int non_zero(const HalideBuffer& flags, const HalideBuffer& output) {
  const int axes = flags.dimensions, last = axes - 1;
  const int64_t size = flags.dim[last].extent, stride = flags.dim[last].stride;
  int64_t count = 0;
  visit_rows(flags, [&](const uint8_t* row, const int64_t*) {
    int64_t in_row = 0;
    for (int64_t i = 0; i < size; ++i) in_row += row[i * stride] != 0;
    count += in_row;
  });
  auto* places = reinterpret_cast<int64_t*>(set_count(output, count));
  const int64_t by_axis = as_rows ? 1 : count, by_place = as_rows ? axes : 1;
  int64_t at = 0;
  visit_rows(flags, [&](const uint8_t* row, const int64_t* index) {
    const int64_t first = at;
    for (int64_t i = 0; i < size; ++i)
      if (row[i * stride] != 0) places[last * by_axis + at++ * by_place] = i;
    for (int axis = 0; axis < last; ++axis)
      for (int64_t place = first; place < at; ++place)
        places[axis * by_axis + place * by_place] = index[axis];
  });
  return 0;
}

/// Takes the slices along the middle one of three axes that a condition, which may be shorter, says.
int compress(const HalideBuffer& x, const HalideBuffer& condition, const HalideBuffer& output) {
  const int64_t bytes = x.type.bits / 8, inner = x.dim[2].extent;
  const int64_t tests = std::min(condition.dim[0].extent, x.dim[1].extent);
  const auto takes = [&](int64_t i) { return condition.host[i * condition.dim[0].stride] != 0; };
  int64_t count = 0;
  for (int64_t i = 0; i < tests; ++i) count += takes(i);
  uint8_t* to = set_count(output, count);
  for (int64_t outer = 0; outer < x.dim[0].extent; ++outer)
    for (int64_t i = 0; i < tests; ++i) {
      if (!takes(i)) continue;
      const int64_t from = outer * x.dim[0].stride + i * x.dim[1].stride;
      copy_elements(to, x.host + from * bytes, inner, x.dim[2].stride, bytes);
      to += inner * bytes;
    }
  return 0;
}

/// What is wanted of the distinct elements.
enum class Wanted { values, first_places, groups, counts };

/// Sorts entries by their keys, above 32 low bits, 8 bits at a time; equal keys stay in their order. Returns
/// whichever of the two arrays has the result.
template <typename Entry>
Entry* sort_by_key(Entry* entries, Entry* other, int64_t size, int key_bits) {
  for (int shift = 32; shift < 32 + key_bits; shift += 8) {
    int64_t begins[257] = {};
    const auto digit = [&](const Entry& entry) { return static_cast<uint8_t>(entry >> shift); };
    for (int64_t i = 0; i < size; ++i) ++begins[digit(entries[i]) + 1];
    if (*std::max_element(begins, begins + 257) == size) continue;
    for (int d = 0; d < 256; ++d) begins[d + 1] += begins[d];
    for (int64_t i = 0; i < size; ++i) other[begins[digit(entries[i])]++] = entries[i];
    std::swap(entries, other);
  }
  return entries;
}

/// Distinct keys in their order, each with where its elements begin among the sorted entries, a key and, in
/// its low 32 bits, a place.
template <typename Key, typename Entry>
class Distinct {
 public:
  Distinct(void* context, const Key* keys, int64_t size)
      : room_(context, 2 * static_cast<size_t>(size) + 1), begins_(context, static_cast<size_t>(size) + 1) {
    if (!has_room()) return;
    for (int64_t i = 0; i < size; ++i) room_.get()[i] = Entry{keys[i]} << 32 | static_cast<uint32_t>(i);
    entries_ = sort_by_key(room_.get(), room_.get() + size, size, 8 * static_cast<int>(sizeof(Key)));
    for (int64_t i = 0; i < size; ++i)
      if (i == 0 || entries_[i - 1] >> 32 != entries_[i] >> 32)
        begins_.get()[count_++] = static_cast<int32_t>(i);
    begins_.get()[count_] = static_cast<int32_t>(size);
  }

  bool has_room() const { return room_.get() != nullptr && begins_.get() != nullptr; }
  int64_t count() const { return count_; }
  int64_t place(int64_t entry) const { return static_cast<uint32_t>(entries_[entry]); }
  int64_t begin(int64_t group) const { return begins_.get()[group]; }
  int64_t first_place(int64_t group) const { return place(begin(group)); }

 private:
  int64_t count_ = 0;
  const Entry* entries_ = nullptr;
  Room<Entry> room_;
  Room<int32_t> begins_;
};

/// Writes what is wanted of the groups in this order.
template <typename Groups>
void write_groups(const Groups& groups, const int64_t* order, Wanted wanted, const HalideBuffer& x,
                  const HalideBuffer& output) {
  const int64_t bytes = x.type.bits / 8;
  if (wanted == Wanted::groups) {
    for (int64_t i = 0; i < groups.count(); ++i)
      for (int64_t e = groups.begin(order[i]); e < groups.begin(order[i] + 1); ++e)
        first<int64_t>(output)[groups.place(e) * output.dim[0].stride] = i;
    return;
  }
  uint8_t* to = set_count(output, groups.count());
  for (int64_t i = 0; i < groups.count(); ++i) {
    const int64_t place = groups.first_place(order[i]);
    const int64_t count = groups.begin(order[i] + 1) - groups.begin(order[i]);
    if (wanted == Wanted::values)
      copy_elements(to + i * bytes, x.host + place * x.dim[0].stride * bytes, 1, 1, bytes);
    else if (output.type.bits == 32)
      reinterpret_cast<int32_t*>(to)[i] = static_cast<int32_t>(count);
    else
      reinterpret_cast<int64_t*>(to)[i] = wanted == Wanted::counts ? count : place;
  }
}

template <typename Key, typename Entry>
int unique(void* context, HalideBuffer& keys, const HalideBuffer& x, int length, int wanted, int is_sorted,
           const HalideBuffer& output) {
  if (is_question(keys, output)) {
    answer_rows(keys, output, length);
    return 0;
  }
  const Distinct<Key, Entry> groups(context, first<Key>(keys), length);
  const Room<int64_t> order(context, static_cast<size_t>(length) + 1);
  if (!groups.has_room() || order.get() == nullptr) return halide_error_out_of_memory(context);
  for (int64_t i = 0; i < groups.count(); ++i) order.get()[i] = i;
  if (is_sorted == 0)
    std::sort(order.get(), order.get() + groups.count(),
              [&](int64_t a, int64_t b) { return groups.first_place(a) < groups.first_place(b); });
  write_groups(groups, order.get(), static_cast<Wanted>(wanted), x, output);
  return 0;
}

}  // namespace

extern "C" {

int intarsia_non_zero(HalideBuffer* flags, int as_rows, HalideBuffer* output) {
  if (is_question(*flags, *output)) return 0;
  return as_rows != 0 ? non_zero<true>(*flags, *output) : non_zero<false>(*flags, *output);
}

int intarsia_compress(HalideBuffer* x, HalideBuffer* condition, HalideBuffer* output) {
  return is_question(*x, *output) ? 0 : compress(*x, *condition, *output);
}

int intarsia_unique_32(void* context, HalideBuffer* keys, HalideBuffer* x, int length, int wanted,
                       int is_sorted, HalideBuffer* output) {
  return unique<uint32_t, uint64_t>(context, *keys, *x, length, wanted, is_sorted, *output);
}

int intarsia_unique_64(void* context, HalideBuffer* keys, HalideBuffer* x, int length, int wanted,
                       int is_sorted, HalideBuffer* output) {
  return unique<uint64_t, unsigned __int128>(context, *keys, *x, length, wanted, is_sorted, *output);
}
}

}  // namespace intarsia::halide::routines
