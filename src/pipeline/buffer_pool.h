// Memory of frames that later frames reuse.
#pragma once

#include <memory>

#include "pipeline/frame.h"

namespace intarsia {

/// Pool of buffers of any size, kept for whoever asks next. Thread-safe; its buffers may outlive it.
class BufferPool {
 public:
  BufferPool();
  /// Takes a buffer of at least `bytes`, aligned to 64, which goes back with its last owner; null: no memory.
  std::shared_ptr<void> take(size_t bytes);
  /// Makes a tensor with undefined content; not for strings. Errors: out of memory.
  Result<FrameValue> make(DType dtype, Shape shape);
  /// Copies a tensor; strings are not in pooled memory. Errors: out of memory.
  Result<FrameValue> copy(const ConstTensorView& tensor);

 private:
  struct Shelf;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace intarsia
