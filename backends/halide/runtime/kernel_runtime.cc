#include "backends/halide/runtime/kernel_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace intarsia::halide {

struct KernelRuntime::Loop {
  KernelRuntime* runtime;
  HalideTask task;
  int min;
  uint8_t* closure;
};

/// Header of a block of a slice. Kernels free blocks as soon as they can, so not always in reverse order.
struct alignas(64) KernelRuntime::Block {
  Block* before;
  size_t seat;   // seat whose slice it is in
  size_t begin;  // offset in the slice, bytes
  bool is_free;
};

KernelRuntime::KernelRuntime(ThreadTeam* threads, size_t slice_bytes, Scratch workspace, Scratch more)
    : HalideKernelRuntime{parallel_for, allocate, release, error, initialize, launch},
      threads_(threads),
      slice_bytes_(slice_bytes),
      scratch_{workspace, more} {}

KernelRuntime::KernelRuntime(Launcher* launcher) : KernelRuntime(nullptr, 0, {}) { launcher_ = launcher; }

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
  auto body = [](void* data, int index, int) {
    Loop& loop = *static_cast<Loop*>(data);
    return loop.task(loop.runtime->table(), loop.min + index, loop.closure);
  };
  return runtime.threads_->parallel_for(size, body, &loop);
}

std::byte* KernelRuntime::slice_of(size_t seat) const {
  if (seat >= slices_.size()) return nullptr;
  for (const Scratch& scratch : scratch_) {
    if (seat >= scratch.first && seat < scratch.first + scratch.count)
      return scratch.begin + (seat - scratch.first) * slice_bytes_;
  }
  return nullptr;
}

void* KernelRuntime::allocate(HalideKernelRuntime* table, size_t bytes) {
  KernelRuntime& runtime = self(table);
  const size_t rounded = (bytes + 127) / 64 * 64;  // kernels may read a vector past the end
  const auto seat = static_cast<size_t>(std::max(ParallelLoop::current_seat(), 0));
  std::byte* const memory = runtime.slice_of(seat);
  if (memory != nullptr && rounded + sizeof(Block) <= runtime.slice_bytes_ - runtime.slices_[seat].used) {
    Slice& slice = runtime.slices_[seat];
    auto* block = new (memory + slice.used) Block{slice.last, seat, slice.used, false};
    slice = {slice.used + sizeof(Block) + rounded, block};
    return block + 1;
  }
  return std::aligned_alloc(64, rounded);
}

void KernelRuntime::release(HalideKernelRuntime* table, void* memory) {
  KernelRuntime& runtime = self(table);
  const auto* at = static_cast<std::byte*>(memory);
  const bool is_scratch = std::ranges::any_of(runtime.scratch_, [&](const Scratch& scratch) {
    return at >= scratch.begin && at < scratch.begin + scratch.count * runtime.slice_bytes_;
  });
  if (!is_scratch) {
    std::free(memory);
    return;
  }
  Block* const block = static_cast<Block*>(memory) - 1;
  block->is_free = true;
  Slice& slice = runtime.slices_[block->seat];
  for (; slice.last != nullptr && slice.last->is_free; slice.last = slice.last->before)
    slice.used = slice.last->begin;
}

void KernelRuntime::error(HalideKernelRuntime* table, const char* message) {
  KernelRuntime& runtime = self(table);
  if (runtime.has_message_.test_and_set(std::memory_order_relaxed)) return;
  std::strncpy(runtime.message_.data(), message, runtime.message_.size() - 1);
}

/// Returns the text's address as the state: it lies in the code's data, which all sessions share, and is the
/// same for all.
int KernelRuntime::initialize(HalideKernelRuntime* table, void** state, const char* text, int bytes) {
  self(table).program_ = {text, static_cast<size_t>(std::max(bytes, 1)) - 1};
  *state = const_cast<char*>(text);
  return 0;
}

int KernelRuntime::launch(HalideKernelRuntime* table, void*, const HalideLaunch* from) {
  KernelRuntime& runtime = self(table);
  if (!runtime.launched_) return halide_launch_failed;
  std::array<LaunchArgument, 1024> arguments;
  size_t count = 0;
  for (; count < arguments.size() && from->argument_bytes[count] != 0; ++count) {
    const void* argument = from->arguments[count];
    if (from->are_buffers[count] != 0)
      arguments[count] = {reinterpret_cast<const void*>(static_cast<const HalideBuffer*>(argument)->device),
                          0};
    else
      arguments[count] = {argument, from->argument_bytes[count]};
  }
  Launch to{.program = runtime.program_, .entry = from->entry};
  for (size_t axis = 0; axis < to.groups.size(); ++axis) {
    to.groups[axis] = static_cast<size_t>(from->groups[axis]);
    to.group_items[axis] = static_cast<size_t>(from->group_items[axis]);
  }
  to.shared_bytes = static_cast<size_t>(from->shared_bytes);
  to.arguments = std::span(arguments).first(count);
  if (count == arguments.size())
    runtime.launched_ = fail(ErrorKind::unsupported, "it has more than {} arguments", count);
  else
    runtime.launched_ = runtime.launcher_ != nullptr
                            ? runtime.launcher_->launch(to)
                            : fail("it was compiled for a device, and runs on the host");
  return runtime.launched_ ? 0 : halide_launch_failed;
}

}  // namespace intarsia::halide
