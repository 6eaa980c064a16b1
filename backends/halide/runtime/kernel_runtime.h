// Object that a kernel's user context points to during one run: the session's threads, scratch memory, the
// way to the device, errors.
#pragma once

#include <array>
#include <atomic>
#include <string>

#include "backends/halide/abi/halide_abi.h"
#include "base/threads/thread_pool.h"
#include "device/launcher.h"

namespace intarsia::halide {

/// Slices of memory for what kernels allocate, one after the other: the first for the task in seat `first`.
struct Scratch {
  std::byte* begin = nullptr;
  size_t first = 0, count = 0;
};

/// Runtime of kernels; lives on the stack of one run.
class KernelRuntime : HalideKernelRuntime {
 public:
  /// Makes a runtime whose seats have slices of `slice_bytes` in the workspace, and those beyond in `more`;
  /// what does not fit comes from the C library's heap.
  KernelRuntime(ThreadTeam* threads, size_t slice_bytes, Scratch workspace, Scratch more = {});
  /// Makes a runtime for kernels on a device, which `launcher` reaches; one thread calls them.
  explicit KernelRuntime(Launcher* launcher);
  KernelRuntime(const KernelRuntime&) = delete;
  KernelRuntime& operator=(const KernelRuntime&) = delete;

  /// Returns what the user context points to.
  void* table() { return static_cast<HalideKernelRuntime*>(this); }
  /// Returns the message of the first failing worker; to be called after a loop, not during one.
  const char* message() const { return message_.data(); }
  bool has_message() const { return has_message_.test(std::memory_order_relaxed); }
  /// Returns the first error of a launch, after which no more work is launched: kernels do not look at it.
  const Status& launched() const { return launched_; }

 private:
  struct Loop;
  struct Block;
  /// Allocated part of a seat's scratch: blocks one after the other.
  struct Slice {
    size_t used = 0;  // bytes
    Block* last = nullptr;
  };
  static KernelRuntime& self(HalideKernelRuntime* table);
  static int parallel_for(HalideKernelRuntime* table, HalideTask task, int min, int size, uint8_t* closure);
  static void* allocate(HalideKernelRuntime* table, size_t bytes);
  static void release(HalideKernelRuntime* table, void* memory);
  static void error(HalideKernelRuntime* table, const char* message);
  static int initialize(HalideKernelRuntime* table, void** state, const char* text, int bytes);
  static int launch(HalideKernelRuntime* table, void* state, const HalideLaunch* launch);

  /// Returns the slice of a seat; null if it has none.
  std::byte* slice_of(size_t seat) const;

  ThreadTeam* threads_;
  size_t slice_bytes_;
  std::array<Scratch, 2> scratch_;
  std::array<Slice, 128> slices_{};  // seats past the last have none
  std::atomic_flag has_message_;     // several workers may fail at once
  std::array<char, 256> message_{};
  Launcher* launcher_ = nullptr;
  std::string_view program_;  // program of the launches that follow
  Status launched_;
};

}  // namespace intarsia::halide
