// Distinct slices, by rows of unsigned keys in their order. Rows of several keys are numbered in their order
// first, so that one key stands for each. If distinct keys are few, a hash table finds them and only these
// are sorted; otherwise all keys are.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "backends/halide/routines/counted_output.h"
#include "backends/halide/routines/routine.h"

namespace intarsia::halide::routines {
namespace {

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

/// Rows of keys, side by side.
template <typename Key>
struct Rows {
  const Key* keys;
  int64_t count, width;

  const Key* row(int32_t i) const { return keys + i * width; }
  bool has_nan(int32_t i) const {
    return std::find(row(i), row(i) + width, std::numeric_limits<Key>::max()) != row(i) + width;
  }

  /// Returns a negative number, 0 or a positive one.
  int compare(int32_t a, int32_t b) const {
    const auto [left, right] = std::mismatch(row(a), row(a) + width, row(b));
    return left == row(a) + width ? 0 : *left < *right ? -1 : 1;
  }

  /// Numbers rows in their order; equal rows have one number, unless they have NaN and that is apart.
  void rank(bool nan_apart, int32_t* order, uint32_t* ranks) const {
    std::iota(order, order + count, 0);
    std::sort(order, order + count, [this](int32_t a, int32_t b) {
      const int difference = compare(a, b);
      return difference != 0 ? difference < 0 : a < b;
    });
    uint32_t rank = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0 && (compare(order[i - 1], order[i]) != 0 || (nan_apart && has_nan(order[i])))) ++rank;
      ranks[order[i]] = rank;
    }
  }
};

/// Groups of equal keys, numbered from 0. An entry is a key and, in its low 32 bits, a number. Where NaN is
/// apart, each of the greatest keys is a group of its own.
template <typename Key, typename Entry>
class Groups {
 public:
  Groups(void* context, const Key* keys, int64_t size, bool nan_apart)
      : keys_(keys),
        size_(size),
        nan_apart_(nan_apart),
        groups_(context, 4 * static_cast<size_t>(size) + 1),
        slots_(context, slot_count()),
        entries_(context, 2 * static_cast<size_t>(size) + 1) {}

  bool has_room() const {
    return groups_.get() != nullptr && slots_.get() != nullptr && entries_.get() != nullptr;
  }

  /// Finds the groups, and orders them by their keys or by their first places.
  void find(bool by_key) {
    const bool is_hashed = hash();
    if (!is_hashed) sort();
    std::iota(order(), order() + count_, 0);
    if (is_hashed && by_key) order_by_key();
    if (!is_hashed && !by_key)
      std::sort(order(), order() + count_,
                [this](int32_t a, int32_t b) { return first_places()[a] < first_places()[b]; });
  }

  int64_t count() const { return count_; }
  int32_t* of_elements() const { return groups_.get(); }
  int32_t* first_places() const { return groups_.get() + size_; }
  int32_t* counts() const { return groups_.get() + 2 * size_; }
  int32_t* order() const { return groups_.get() + 3 * size_; }

 private:
  static constexpr int64_t least_in_group = 4;  // mean elements of a group; below, sorting is faster
  static constexpr int64_t most_steps = 4;      // mean steps in the table for an element
  static constexpr int key_bits = 8 * static_cast<int>(sizeof(Key));

  size_t slot_count() const { return std::bit_ceil(2 * static_cast<size_t>(size_ / least_in_group) + 2); }

  void add_group(int64_t place) {
    first_places()[count_] = static_cast<int32_t>(place);
    counts()[count_++] = 0;
  }

  void add_element(int64_t place, int32_t group) {
    of_elements()[place] = group;
    ++counts()[group];
  }

  /// Finds groups in the order of their first places. Gives up if there are too many, or if their keys are
  /// near each other in the table.
  bool hash() {
    const size_t mask = slot_count() - 1;
    const int shift = 64 - std::countr_one(mask);
    int64_t steps_left = most_steps * size_;
    std::fill_n(slots_.get(), mask + 1, -1);
    for (int64_t i = 0; i < size_; ++i) {
      if (is_apart(keys_[i])) {
        if (count_ >= size_ / least_in_group) return false;
        add_group(i);
        add_element(i, static_cast<int32_t>(count_ - 1));
        continue;
      }
      const uint64_t mixed = (keys_[i] ^ uint64_t{keys_[i]} >> 32) * 0x9e3779b97f4a7c15;
      size_t slot = mixed >> shift;
      for (; slots_.get()[slot] >= 0 && keys_[first_places()[slots_.get()[slot]]] != keys_[i]; --steps_left)
        slot = (slot + 1) & mask;
      if (steps_left < 0) return false;
      if (slots_.get()[slot] < 0) {
        if (count_ >= size_ / least_in_group) return false;
        slots_.get()[slot] = static_cast<int32_t>(count_);
        add_group(i);
      }
      add_element(i, slots_.get()[slot]);
    }
    return true;
  }

  /// Finds groups in the order of their keys.
  void sort() {
    count_ = 0;
    for (int64_t i = 0; i < size_; ++i) entries_.get()[i] = Entry{keys_[i]} << 32 | static_cast<uint32_t>(i);
    const Entry* const sorted = sort_by_key(entries_.get(), entries_.get() + size_, size_, key_bits);
    for (int64_t i = 0; i < size_; ++i) {
      const auto place = static_cast<uint32_t>(sorted[i]);
      if (i == 0 || sorted[i - 1] >> 32 != sorted[i] >> 32 || is_apart(keys_[place])) add_group(place);
      add_element(place, static_cast<int32_t>(count_ - 1));
    }
  }

  void order_by_key() {
    for (int64_t i = 0; i < count_; ++i)
      entries_.get()[i] = Entry{keys_[first_places()[i]]} << 32 | static_cast<uint32_t>(i);
    const Entry* const sorted = sort_by_key(entries_.get(), entries_.get() + count_, count_, key_bits);
    for (int64_t i = 0; i < count_; ++i) order()[i] = static_cast<int32_t>(static_cast<uint32_t>(sorted[i]));
  }

  bool is_apart(Key key) const { return nan_apart_ && key == std::numeric_limits<Key>::max(); }

  const Key* keys_;
  const int64_t size_;
  const bool nan_apart_;
  int64_t count_ = 0;
  Room<int32_t> groups_, slots_;  // a slot has a group, or -1
  Room<Entry> entries_;
};

/// Writes the place of each element's group in the order. The groups' counts are then of no use.
template <typename Number, typename AnyGroups>
void write_groups(const AnyGroups& groups, int64_t size, const HalideBuffer& output) {
  int32_t* const ranks = groups.counts();
  for (int64_t i = 0; i < groups.count(); ++i) ranks[groups.order()[i]] = static_cast<int32_t>(i);
  for (int64_t i = 0; i < size; ++i)
    first<Number>(output)[i * output.dim[0].stride] = ranks[groups.of_elements()[i]];
}

/// Writes the first slice of each group, in their order; `x` has slices along the middle one of three axes.
template <typename AnyGroups>
void write_slices(const AnyGroups& groups, const HalideBuffer& x, const HalideBuffer& output) {
  const int64_t bytes = x.type.bits / 8, inner = x.dim[2].extent;
  uint8_t* to = set_count(output, groups.count());
  for (int64_t outer = 0; outer < x.dim[0].extent; ++outer)
    for (int64_t i = 0; i < groups.count(); ++i, to += inner * bytes) {
      const int64_t place = groups.first_places()[groups.order()[i]];
      const int64_t from = outer * x.dim[0].stride + place * x.dim[1].stride;
      copy_elements(to, x.host + from * bytes, inner, x.dim[2].stride, bytes);
    }
}

/// Writes the first place of each group, or how many slices it has, in their order.
template <typename Number, typename AnyGroups>
void write_numbers(const AnyGroups& groups, Wanted wanted, const HalideBuffer& output) {
  auto* const to = reinterpret_cast<Number*>(set_count(output, groups.count()));
  const int32_t* const numbers = wanted == Wanted::counts ? groups.counts() : groups.first_places();
  for (int64_t i = 0; i < groups.count(); ++i) to[i] = numbers[groups.order()[i]];
}

/// What a call is asked for.
struct Request {
  Wanted wanted;
  bool is_sorted, nan_apart;
};

/// Finds groups of keys, and writes what is wanted of them.
template <typename Key, typename Entry>
int write_distinct(void* context, const Key* keys, int64_t count, const Request& request,
                   const HalideBuffer& x, const HalideBuffer& output) {
  Groups<Key, Entry> groups(context, keys, count, request.nan_apart);
  if (!groups.has_room()) return halide_error_out_of_memory(context);
  groups.find(request.is_sorted);
  const bool is_long = output.type.bits == 64;
  if (request.wanted == Wanted::values)
    write_slices(groups, x, output);
  else if (request.wanted == Wanted::groups)
    is_long ? write_groups<int64_t>(groups, count, output) : write_groups<int32_t>(groups, count, output);
  else
    is_long ? write_numbers<int64_t>(groups, request.wanted, output)
            : write_numbers<int32_t>(groups, request.wanted, output);
  return 0;
}

template <typename Key, typename Entry>
int unique(void* context, HalideBuffer& keys, const HalideBuffer& x, const Rows<Key>& rows,
           const Request& request, const HalideBuffer& output) {
  if (is_question(keys, output)) {
    const auto set = [&keys](int axis, int64_t extent) {
      auto& dim = const_cast<HalideDimension&>(keys.dim[axis]);
      dim.min = 0, dim.extent = static_cast<int32_t>(extent);
    };
    set(0, rows.count), set(1, rows.width);
    return 0;
  }
  if (rows.width == 1) return write_distinct<Key, Entry>(context, rows.keys, rows.count, request, x, output);
  const auto room = static_cast<size_t>(rows.count) + 1;
  const Room<int32_t> order(context, room);
  const Room<uint32_t> ranks(context, room);
  if (order.get() == nullptr || ranks.get() == nullptr) return halide_error_out_of_memory(context);
  rows.rank(request.nan_apart, order.get(), ranks.get());
  const Request ranked{request.wanted, request.is_sorted, false};
  return write_distinct<uint32_t, uint64_t>(context, ranks.get(), rows.count, ranked, x, output);
}

}  // namespace

extern "C" {

int intarsia_unique_32(void* context, HalideBuffer* keys, HalideBuffer* x, int count, int width, int wanted,
                       int is_sorted, int nan_apart, HalideBuffer* output) {
  const Request request{static_cast<Wanted>(wanted), is_sorted != 0, nan_apart != 0};
  const Rows<uint32_t> rows{first<const uint32_t>(*keys), count, width};
  return unique<uint32_t, uint64_t>(context, *keys, *x, rows, request, *output);
}

int intarsia_unique_64(void* context, HalideBuffer* keys, HalideBuffer* x, int count, int width, int wanted,
                       int is_sorted, int nan_apart, HalideBuffer* output) {
  const Request request{static_cast<Wanted>(wanted), is_sorted != 0, nan_apart != 0};
  const Rows<uint64_t> rows{first<const uint64_t>(*keys), count, width};
  return unique<uint64_t, Wide>(context, *keys, *x, rows, request, *output);
}
}

}  // namespace intarsia::halide::routines
