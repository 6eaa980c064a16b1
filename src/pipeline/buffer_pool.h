// Memory of frames that is used again by later ones.
#pragma once

#include <memory>

#include "pipeline/frame.h"

namespace intarsia {

/// Buffers of any sizes, kept for the next that asks. May be called from several threads, and outlived by its
/// buffers.
class BufferPool {
 public:
  BufferPool();
  /// At least `bytes`, aligned to 64; goes back to the pool with its last owner. Null: there is no memory.
  std::shared_ptr<void> take(size_t bytes);
  /// A tensor of any content, not of strings. Error: out of memory.
  Result<FrameValue> make(DType dtype, Shape shape);
  /// A tensor like this one; strings are not in pooled memory. Error: out of memory.
  Result<FrameValue> copy(const ConstTensorView& tensor);

 private:
  struct Shelf;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace intarsia
