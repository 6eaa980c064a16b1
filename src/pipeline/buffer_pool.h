// Memory of frames that is used again by later ones.
#pragma once

#include <memory>

namespace intarsia {

/// Buffers of any sizes, kept for the next that asks. May be called from several threads, and outlived by its
/// buffers.
class BufferPool {
 public:
  BufferPool();
  /// At least `bytes`, aligned to 64; goes back to the pool with its last owner. Null: there is no memory.
  std::shared_ptr<void> take(size_t bytes);

 private:
  struct Shelf;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace intarsia
