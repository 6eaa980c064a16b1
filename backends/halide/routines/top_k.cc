// Places of the k greatest keys of a row. Keys are unsigned; of equal ones the first counts as greater.
#include <algorithm>
#include <cstdint>
#include <functional>

#include "backends/halide/routines/routine.h"
#include "backends/halide/routines/top_k_room.h"

namespace intarsia::halide::routines {
namespace {

/// Collects the greatest of some entries, each a key and, in its low 32 bits, the complement of its place:
/// among equal keys the first has the greatest entry. What is full drops all but the k greatest by selection;
/// from then on only keys above the least of these enter, so that most of a row is only compared.
template <typename Key, typename Entry>
class Greatest {
 public:
  Greatest(Entry* entries, int k, int length) : entries_(entries), k_(k), most_(top_k_room(k, length)) {}

  void add(const Key* keys, int length) {
    if (k_ <= most_inserted) return insert_all(keys, length);
    for (int first = 0; first < length; first += block) {
      const int count = std::min<int>(block, length - first);
      if (has_least_ && !has_greater(keys + first, count)) continue;
      if (count_ + block > most_) drop();
      for (int i = first; i < first + count; ++i) {
        entries_[count_] = Entry{keys[i]} << 32 | static_cast<uint32_t>(~i);
        count_ += !has_least_ || keys[i] > least_;
      }
    }
  }

  /// Writes the places of the k greatest, in descending order.
  void finish(int32_t* places) {
    select();
    std::sort(entries_, entries_ + k_, std::greater<>());
    for (int i = 0; i < k_; ++i) places[i] = static_cast<int32_t>(~static_cast<uint32_t>(entries_[i]));
  }

 private:
  static constexpr int block = top_k_block, most_inserted = 16;

  /// Keeps few entries in ascending order.
  void insert_all(const Key* keys, int length) {
    for (int first = 0; first < length; first += block) {
      const int last = std::min<int>(first + block, length);
      if (has_least_ && !has_greater(keys + first, last - first)) continue;
      for (int i = first; i < last; ++i)
        if (!has_least_ || keys[i] > least_) insert(Entry{keys[i]} << 32 | static_cast<uint32_t>(~i));
    }
  }

  /// Inserts an entry in place of the least, if there are enough.
  void insert(Entry entry) {
    int to = has_least_ ? 0 : count_++;
    if (has_least_)
      for (; to + 1 < k_ && entries_[to + 1] < entry; ++to) entries_[to] = entries_[to + 1];
    else
      for (; to > 0 && entries_[to - 1] > entry; --to) entries_[to] = entries_[to - 1];
    entries_[to] = entry;
    has_least_ = count_ == k_;
    least_ = static_cast<Key>(entries_[0] >> 32);
  }

  bool has_greater(const Key* keys, int count) const {
    int greater = 0;
    for (int i = 0; i < count; ++i) greater |= keys[i] > least_;
    return greater != 0;
  }

  void select() const {
    if (count_ > k_) std::nth_element(entries_, entries_ + k_ - 1, entries_ + count_, std::greater<>());
  }

  void drop() {
    select();
    count_ = k_;
    has_least_ = true;
    least_ = static_cast<Key>(entries_[k_ - 1] >> 32);
  }

  Entry* entries_;
  const int k_, most_;
  int count_ = 0;
  bool has_least_ = false;
  Key least_ = 0;
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
  return top_k<uint64_t, unsigned __int128>(context, keys, length, places);
}
}

}  // namespace intarsia::halide::routines
