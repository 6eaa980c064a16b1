#include "pipeline/buffer_pool.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

namespace intarsia {

struct BufferPool::Shelf {
  struct PooledBuffer {
    size_t bytes = 0;
    std::shared_ptr<void> memory;
  };

  std::mutex mutex;
  std::vector<PooledBuffer> free;
  size_t lent = 0;

  /// Lends the smallest buffer that is large enough. If all are too small, the largest is freed to make room
  /// for a new one, so that memory does not grow with changing sizes.
  PooledBuffer lend(size_t bytes) {
    const std::scoped_lock lock(mutex);
    free.reserve(free.size() + ++lent);  // giving back cannot fail
    std::ranges::sort(free, {}, &PooledBuffer::bytes);
    const auto best = std::ranges::lower_bound(free, bytes, {}, &PooledBuffer::bytes);
    if (best == free.end()) {
      if (!free.empty()) free.pop_back();
      return {};
    }
    PooledBuffer found = std::move(*best);
    free.erase(best);
    return found;
  }

  void give_back(PooledBuffer buffer) {
    const std::scoped_lock lock(mutex);
    --lent;
    free.push_back(std::move(buffer));
  }
};

BufferPool::BufferPool() : shelf_(std::make_shared<Shelf>()) {}

std::shared_ptr<void> BufferPool::take(size_t bytes) {
  Shelf::PooledBuffer buffer = shelf_->lend(bytes);
  if (buffer.memory == nullptr) buffer = {bytes, allocate_aligned(std::max<size_t>(bytes, 1))};
  void* memory = buffer.memory.get();
  std::shared_ptr<void> lent(memory, [shelf = shelf_, buffer = std::move(buffer)](void*) mutable {
    shelf->give_back(std::move(buffer));
  });
  return memory == nullptr ? nullptr : lent;
}

Result<FrameValue> BufferPool::make(DType dtype, Shape shape) {
  TensorView view{nullptr, dtype, std::move(shape)};
  std::shared_ptr<void> memory = take(view.bytes());
  if (memory == nullptr) return fail(ErrorKind::out_of_memory, "no memory for {} bytes", view.bytes());
  view.data = memory.get();
  return FrameValue{std::move(view), std::move(memory)};
}

Result<FrameValue> BufferPool::copy(const ConstTensorView& tensor) {
  if (tensor.dtype == DType::string) {
    const Tensor strings(tensor);
    return FrameValue{strings.view(), strings.owner()};
  }
  FrameValue made = TRY(make(tensor.dtype, tensor.shape));
  if (const size_t bytes = tensor.bytes(); bytes > 0) std::memcpy(made.tensor.data, tensor.data, bytes);
  return made;
}

}  // namespace intarsia
