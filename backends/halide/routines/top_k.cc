// Places of the k greatest keys of a row. Keys are unsigned; of equal ones the first counts as greater.
#include <algorithm>
#include <cstdint>
#include <experimental/simd>
#include <functional>

#include "backends/halide/routines/routine.h"
#include "backends/halide/routines/top_k_room.h"

namespace intarsia::halide::routines {
namespace {

namespace simd = std::experimental;

/// Collects the greatest of some entries, each a key and, in its low 32 bits, the complement of its place:
/// among equal keys the first has the greatest entry. What is full drops all but the k greatest by selection.
/// Only keys above a bound enter, so that most of a row is only compared: at first what the greatest keys of
/// many groups tell, then the least of what is kept.
template <typename Key, typename Entry>
class Greatest {
 public:
  Greatest(Entry* entries, int k, int length) : entries_(entries), k_(k), most_(top_k_room(k, length)) {}

  void add(const Key* keys, int length) {
    set_bound(keys, length);
    int first = 0;
    for (; first + block <= length; first += block)
      if (may_enter(keys + first, block))
        for (int i = 0; i < block; i += lanes) add_some(keys, first + i, lanes);
    if (first < length) add_some(keys, first, length - first);
  }

  /// Writes the places of the k greatest, in descending order.
  void finish(int32_t* places) {
    select();
    std::sort(entries_, entries_ + k_, std::greater<>());
    for (int i = 0; i < k_; ++i) places[i] = static_cast<int32_t>(~static_cast<uint32_t>(entries_[i]));
  }

 private:
  using Lanes = simd::native_simd<Key>;
  static constexpr int block = top_k_block, lanes = Lanes::size();

  static Lanes load(const Key* keys) { return Lanes(keys, simd::element_aligned); }

  /// Checks whether one of some full vectors of keys is above the bound.
  bool may_enter(const Key* keys, int count) const {
    typename Lanes::mask_type above(!has_bound_);
    for (int i = 0; i < count; i += lanes) above |= load(keys + i) > bound_;
    return simd::any_of(above);
  }

  void add_some(const Key* keys, int first, int count) {
    if (count == lanes && !may_enter(keys + first, lanes)) return;
    if (count_ + count > most_) drop();
    for (int i = first; i < first + count; ++i) {
      entries_[count_] = Entry{keys[i]} << 32 | static_cast<uint32_t>(~i);
      count_ += !has_bound_ || keys[i] > bound_;
    }
  }

  /// Bounds the keys by the greatest ones of twice as many groups as are wanted, if there are as many: k keys
  /// are not below the k-th of these, which is near the k-th key.
  void set_bound(const Key* keys, int length) {
    const int parts = (k_ - 1) / (block / 2) + 1, rounds = length / block / parts;
    if (rounds < (parts > 1 ? 4 : 1)) return;
    Key* maxima = reinterpret_cast<Key*>(entries_);
    for (int part = 0; part < parts; ++part)
      for (int i = 0; i < block; i += lanes)
        write_maxima(keys + int64_t{part} * rounds * block + i, rounds, maxima + part * block + i);
    if (parts == 1)
      bound_ = find_bound(maxima);
    else {
      std::nth_element(maxima, maxima + k_ - 1, maxima + parts * block, std::greater<>());
      bound_ = maxima[k_ - 1];
    }
    has_bound_ = bound_ > 0;
    --bound_;
  }

  /// Writes the greatest of the keys that are a multiple of `block` apart, for neighboring first keys.
  static void write_maxima(const Key* keys, int rounds, Key* to) {
    Lanes maxima = load(keys);
    for (int round = 1; round < rounds; ++round) maxima = simd::max(maxima, load(keys + round * block));
    maxima.copy_to(to, simd::element_aligned);
  }

  /// Finds the k-th greatest of the keys of a block.
  Key find_bound(const Key* keys) const {
    Lanes found = 0;
    for (int first = 0; first < block; first += lanes) {
      const Lanes some = load(keys + first);
      Lanes ranks = 0;
      for (int i = 0; i < block; ++i) ++simd::where(some <= keys[i], ranks);
      simd::where(ranks >= static_cast<Key>(k_), found) = simd::max(found, some);
    }
    return simd::hmax(found);
  }

  void select() const {
    if (count_ > k_) std::nth_element(entries_, entries_ + k_ - 1, entries_ + count_, std::greater<>());
  }

  void drop() {
    select();
    count_ = k_;
    has_bound_ = true;
    bound_ = static_cast<Key>(entries_[k_ - 1] >> 32);
  }

  Entry* entries_;
  const int k_, most_;
  int count_ = 0;
  bool has_bound_ = false;
  Key bound_ = 0;
};

template <typename Key, typename Entry>
int top_k(void* context, HalideBuffer* keys, int length, HalideBuffer* places) {
  if (is_question(*keys, *places)) {
    answer_rows(*keys, *places, length);
    return 0;
  }
  const int k = places->dim[places->dimensions - 1].extent;
  const Room<Entry> room(context, static_cast<size_t>(top_k_room(k, length)));
  if (room.get() == nullptr) return halide_error_out_of_memory(context);
  Greatest<Key, Entry> greatest(room.get(), k, length);
  greatest.add(first<Key>(*keys), length);
  greatest.finish(first<int32_t>(*places));
  return 0;
}

}  // namespace

extern "C" {

int intarsia_top_k_32(void* context, HalideBuffer* keys, int length, HalideBuffer* places) {
  return top_k<uint32_t, uint64_t>(context, keys, length, places);
}

int intarsia_top_k_64(void* context, HalideBuffer* keys, int length, HalideBuffer* places) {
  return top_k<uint64_t, Wide>(context, keys, length, places);
}
}

}  // namespace intarsia::halide::routines
