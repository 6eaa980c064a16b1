#include "backends/halide/runtime/kernel_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace intarsia::halide {
namespace {

/// The worker that this thread is while it runs a task of a parallel loop; the caller of a run is worker 0.
thread_local size_t current_worker = 0;

}  // namespace

struct KernelRuntime::Loop {
  KernelRuntime* runtime;
  HalideTask task;
  int min;
  uint8_t* closure;
};

/// Before each block of a slice. Kernels free blocks as soon as they can, so not always in reverse order.
struct alignas(64) KernelRuntime::Block {
  Block* before;
  size_t begin;  // of this one in its slice, bytes
  bool is_free;
};

KernelRuntime::KernelRuntime(ThreadPool* threads, std::byte* scratch, size_t slice_bytes, size_t workers)
    : HalideKernelRuntime{parallel_for, allocate, release, error},
      threads_(threads),
      scratch_(scratch),
      slice_bytes_(slice_bytes),
      workers_(std::min(workers, slices_.size())) {}

KernelRuntime& KernelRuntime::self(HalideKernelRuntime* table) { return static_cast<KernelRuntime&>(*table); }

int KernelRuntime::parallel_for(HalideKernelRuntime* table, HalideTask task, int min, int size,
                                uint8_t* closure) {
  KernelRuntime& runtime = self(table);
  if (!runtime.threads_ || size < 2) {
    for (int i = 0; i < size; ++i)
      if (int status = task(table, min + i, closure)) return status;
    return 0;
  }
  Loop loop{&runtime, task, min, closure};
  auto body = [](void* data, int index, int worker) {
    Loop& loop = *static_cast<Loop*>(data);
    size_t before = std::exchange(current_worker, static_cast<size_t>(worker));
    int status = loop.task(loop.runtime->table(), loop.min + index, loop.closure);
    current_worker = before;
    return status;
  };
  return runtime.threads_->parallel_for(size, body, &loop);
}

void* KernelRuntime::allocate(HalideKernelRuntime* table, size_t bytes) {
  KernelRuntime& runtime = self(table);
  size_t rounded = (bytes + 127) / 64 * 64;  // kernels may read a vector past the end
  size_t worker = current_worker;
  if (worker < runtime.workers_ &&
      rounded + sizeof(Block) <= runtime.slice_bytes_ - runtime.slices_[worker].used) {
    Slice& slice = runtime.slices_[worker];
    auto* block = new (runtime.scratch_ + worker * runtime.slice_bytes_ + slice.used)
        Block{slice.last, slice.used, false};
    slice = {slice.used + sizeof(Block) + rounded, block};
    return block + 1;
  }
  return std::aligned_alloc(64, rounded);
}

void KernelRuntime::release(HalideKernelRuntime* table, void* memory) {
  KernelRuntime& runtime = self(table);
  auto* at = static_cast<std::byte*>(memory);
  if (at < runtime.scratch_ || at >= runtime.scratch_ + runtime.workers_ * runtime.slice_bytes_) {
    std::free(memory);
    return;
  }
  (static_cast<Block*>(memory) - 1)->is_free = true;
  const size_t worker = static_cast<size_t>(at - runtime.scratch_) / runtime.slice_bytes_;
  Slice& slice = runtime.slices_[worker];
  for (; slice.last != nullptr && slice.last->is_free; slice.last = slice.last->before)
    slice.used = slice.last->begin;
}

void KernelRuntime::error(HalideKernelRuntime* table, const char* message) {
  KernelRuntime& runtime = self(table);
  if (runtime.has_message_.test_and_set(std::memory_order_relaxed)) return;
  std::strncpy(runtime.message_.data(), message, runtime.message_.size() - 1);
}

}  // namespace intarsia::halide
