// What a kernel's user context points to during one run: the session's threads, scratch memory, an error
// message.
#pragma once

#include <array>
#include <atomic>
#include <string>

#include "backends/halide/abi/halide_abi.h"
#include "base/thread_pool.h"

namespace intarsia::halide {

/// Lives on the stack of one run.
class KernelRuntime : HalideKernelRuntime {
 public:
  /// `scratch` holds `workers` slices of `slice_bytes`; what does not fit comes from the C library's heap.
  KernelRuntime(ThreadPool* threads, std::byte* scratch, size_t slice_bytes, size_t workers);
  KernelRuntime(const KernelRuntime&) = delete;
  KernelRuntime& operator=(const KernelRuntime&) = delete;

  /// What the user context points to.
  void* table() { return static_cast<HalideKernelRuntime*>(this); }
  /// The message of the first failing worker. After a loop, not during one.
  const char* message() const { return message_.data(); }

 private:
  struct Loop;
  struct Block;
  /// What a worker has allocated of its scratch: blocks one after the other.
  struct Slice {
    size_t used = 0;  // bytes
    Block* last = nullptr;
  };
  static KernelRuntime& self(HalideKernelRuntime* table);
  static int parallel_for(HalideKernelRuntime* table, HalideTask task, int min, int size, uint8_t* closure);
  static void* allocate(HalideKernelRuntime* table, size_t bytes);
  static void release(HalideKernelRuntime* table, void* memory);
  static void error(HalideKernelRuntime* table, const char* message);

  ThreadPool* threads_;
  std::byte* scratch_;
  size_t slice_bytes_, workers_;
  std::array<Slice, 128> slices_{};  // workers past the last have none
  std::atomic_flag has_message_;     // several workers may fail at once
  std::array<char, 256> message_{};
};

}  // namespace intarsia::halide
