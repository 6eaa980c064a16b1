// What kernels find behind their user context during one run: the session's threads, scratch memory, an error
// message.
#pragma once

#include <array>
#include <atomic>
#include <string>

#include "backends/halide/abi/halide_abi.h"
#include "base/thread_pool.h"

namespace intarsia::halide {

/// Lives on the stack of one run.
class Host : HalideHost {
 public:
  /// `scratch` holds `workers` slices of `slice_bytes`; what does not fit comes from the C library's heap.
  Host(ThreadPool* threads, std::byte* scratch, size_t slice_bytes, size_t workers);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// What the user context points to.
  void* table() { return static_cast<HalideHost*>(this); }
  /// What the first failing worker said. After a loop, not during one.
  const char* message() const { return message_.data(); }

 private:
  struct Loop;
  struct Block;
  /// What a worker has taken of its scratch: blocks one behind the other.
  struct Slice {
    size_t used = 0;  // bytes
    Block* last = nullptr;
  };
  static Host& self(HalideHost* table);
  static int parallel_for(HalideHost* table, HalideTask task, int min, int size, uint8_t* closure);
  static void* allocate(HalideHost* table, size_t bytes);
  static void release(HalideHost* table, void* memory);
  static void error(HalideHost* table, const char* message);

  ThreadPool* threads_;
  std::byte* scratch_;
  size_t slice_bytes_, workers_;
  std::array<Slice, 128> slices_{};  // workers behind the last have none
  std::atomic_flag has_message_;     // several workers may fail at once
  std::array<char, 256> message_{};
};

}  // namespace intarsia::halide
