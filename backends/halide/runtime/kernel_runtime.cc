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

struct Host::Loop {
  Host* host;
  HalideTask task;
  int min;
  uint8_t* closure;
};

/// Before each block of a slice. Kernels free early what they need no more, so not always the last block
/// first.
struct alignas(64) Host::Block {
  Block* before;
  size_t begin;  // of this one in its slice, bytes
  bool is_free;
};

Host::Host(ThreadPool* threads, std::byte* scratch, size_t slice_bytes, size_t workers)
    : HalideHost{parallel_for, allocate, release, error},
      threads_(threads),
      scratch_(scratch),
      slice_bytes_(slice_bytes),
      workers_(std::min(workers, slices_.size())) {}

Host& Host::self(HalideHost* table) { return static_cast<Host&>(*table); }

int Host::parallel_for(HalideHost* table, HalideTask task, int min, int size, uint8_t* closure) {
  Host& host = self(table);
  if (!host.threads_ || size < 2) {
    for (int i = 0; i < size; ++i)
      if (int status = task(table, min + i, closure)) return status;
    return 0;
  }
  Loop loop{&host, task, min, closure};
  auto body = [](void* data, int index, int worker) {
    Loop& loop = *static_cast<Loop*>(data);
    size_t before = std::exchange(current_worker, static_cast<size_t>(worker));
    int status = loop.task(loop.host->table(), loop.min + index, loop.closure);
    current_worker = before;
    return status;
  };
  return host.threads_->parallel_for(size, body, &loop);
}

void* Host::allocate(HalideHost* table, size_t bytes) {
  Host& host = self(table);
  size_t rounded = (bytes + 127) / 64 * 64;  // kernels may read a vector past the end
  size_t worker = current_worker;
  if (worker < host.workers_ && rounded + sizeof(Block) <= host.slice_bytes_ - host.slices_[worker].used) {
    Slice& slice = host.slices_[worker];
    auto* block =
        new (host.scratch_ + worker * host.slice_bytes_ + slice.used) Block{slice.last, slice.used, false};
    slice = {slice.used + sizeof(Block) + rounded, block};
    return block + 1;
  }
  return std::aligned_alloc(64, rounded);
}

void Host::release(HalideHost* table, void* memory) {
  Host& host = self(table);
  auto* at = static_cast<std::byte*>(memory);
  if (at < host.scratch_ || at >= host.scratch_ + host.workers_ * host.slice_bytes_) {
    std::free(memory);
    return;
  }
  (static_cast<Block*>(memory) - 1)->is_free = true;
  const size_t worker = static_cast<size_t>(at - host.scratch_) / host.slice_bytes_;
  Slice& slice = host.slices_[worker];
  for (; slice.last != nullptr && slice.last->is_free; slice.last = slice.last->before)
    slice.used = slice.last->begin;
}

void Host::error(HalideHost* table, const char* message) {
  Host& host = self(table);
  if (host.has_message_.test_and_set(std::memory_order_relaxed)) return;
  std::strncpy(host.message_.data(), message, host.message_.size() - 1);
}

}  // namespace intarsia::halide
