// Memory of outputs whose size a kernel counts (abi/counted.h), kept for later runs: a page of fresh memory
// costs more than what a kernel writes into it.
#pragma once

#include <cstddef>
#include <memory>

namespace intarsia::halide {

class RoomPool {
 public:
  /// `most`: rooms that are kept while nobody uses them.
  explicit RoomPool(size_t most);

  /// Returns memory of at least that size, aligned to 64 bytes, with whatever it had; null if there is not
  /// enough. It comes back with the last pointer, or is freed then if the pool is gone.
  std::shared_ptr<void> take(size_t bytes) const;

 private:
  struct Rooms;
  std::shared_ptr<Rooms> rooms_;
};

}  // namespace intarsia::halide
