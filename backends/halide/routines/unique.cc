// Distinct elements, by unsigned keys in their order. If they are few, a hash table finds them and only these
// are sorted; otherwise all keys are.
#include <algorithm>
#include <bit>
#include <cstdint>
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

/// Groups of equal keys, numbered from 0. An entry is a key and, in its low 32 bits, a number.
template <typename Key, typename Entry>
class Groups {
 public:
  Groups(void* context, const Key* keys, int64_t size)
      : keys_(keys),
        size_(size),
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
      if (i == 0 || sorted[i - 1] >> 32 != sorted[i] >> 32) add_group(place);
      add_element(place, static_cast<int32_t>(count_ - 1));
    }
  }

  void order_by_key() {
    for (int64_t i = 0; i < count_; ++i)
      entries_.get()[i] = Entry{keys_[first_places()[i]]} << 32 | static_cast<uint32_t>(i);
    const Entry* const sorted = sort_by_key(entries_.get(), entries_.get() + count_, count_, key_bits);
    for (int64_t i = 0; i < count_; ++i) order()[i] = static_cast<int32_t>(static_cast<uint32_t>(sorted[i]));
  }

  const Key* keys_;
  const int64_t size_;
  int64_t count_ = 0;
  Room<int32_t> groups_, slots_;  // a slot has a group, or -1
  Room<Entry> entries_;
};

/// Writes the place of each element's group in the order. The groups' counts are then of no use.
template <typename AnyGroups>
void write_groups(const AnyGroups& groups, int64_t size, const HalideBuffer& output) {
  int32_t* const ranks = groups.counts();
  for (int64_t i = 0; i < groups.count(); ++i) ranks[groups.order()[i]] = static_cast<int32_t>(i);
  for (int64_t i = 0; i < size; ++i)
    first<int64_t>(output)[i * output.dim[0].stride] = ranks[groups.of_elements()[i]];
}

/// Writes what is wanted of each group, in their order.
template <typename AnyGroups>
void write_counted(const AnyGroups& groups, Wanted wanted, const HalideBuffer& x,
                   const HalideBuffer& output) {
  const int64_t bytes = x.type.bits / 8;
  uint8_t* const to = set_count(output, groups.count());
  for (int64_t i = 0; i < groups.count(); ++i) {
    const int32_t group = groups.order()[i], place = groups.first_places()[group];
    if (wanted == Wanted::values)
      copy_elements(to + i * bytes, x.host + place * x.dim[0].stride * bytes, 1, 1, bytes);
    else if (output.type.bits == 32)
      reinterpret_cast<int32_t*>(to)[i] = groups.counts()[group];
    else
      reinterpret_cast<int64_t*>(to)[i] = wanted == Wanted::counts ? groups.counts()[group] : place;
  }
}

template <typename Key, typename Entry>
int unique(void* context, HalideBuffer& keys, const HalideBuffer& x, int length, int wanted, int is_sorted,
           const HalideBuffer& output) {
  if (is_question(keys, output)) {
    answer_rows(keys, output, length);
    return 0;
  }
  Groups<Key, Entry> groups(context, first<const Key>(keys), length);
  if (!groups.has_room()) return halide_error_out_of_memory(context);
  groups.find(is_sorted != 0);
  if (static_cast<Wanted>(wanted) == Wanted::groups)
    write_groups(groups, length, output);
  else
    write_counted(groups, static_cast<Wanted>(wanted), x, output);
  return 0;
}

}  // namespace

extern "C" {

int intarsia_unique_32(void* context, HalideBuffer* keys, HalideBuffer* x, int length, int wanted,
                       int is_sorted, HalideBuffer* output) {
  return unique<uint32_t, uint64_t>(context, *keys, *x, length, wanted, is_sorted, *output);
}

int intarsia_unique_64(void* context, HalideBuffer* keys, HalideBuffer* x, int length, int wanted,
                       int is_sorted, HalideBuffer* output) {
  return unique<uint64_t, Wide>(context, *keys, *x, length, wanted, is_sorted, *output);
}
}

}  // namespace intarsia::halide::routines
