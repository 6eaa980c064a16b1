// Functions that kernels call for what Halide's loops cannot express: extern stages of their pipelines
// (build/build_routine.cc). They are compiled when Intarsia is built, once for each level of processors, and
// linked into programs that call them. They need nothing but the C library, and throw nothing.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "backends/halide/abi/halide_abi.h"

namespace intarsia::halide::routines {

/// Checks whether Halide asks what a call will read: a buffer then has no memory, and the call sets the
/// dimensions of inputs that the pipeline computes.
inline bool is_question(const HalideBuffer& input, const HalideBuffer& output) {
  return input.host == nullptr || output.host == nullptr;
}

/// Answers that a call reads elements 0 ... length - 1 of the last axis, in the rows that it writes.
inline void answer_rows(HalideBuffer& input, const HalideBuffer& output, int length) {
  auto* to = const_cast<HalideDimension*>(input.dim);
  for (int axis = 0; axis + 1 < input.dimensions; ++axis) {
    to[axis].min = output.dim[axis].min;
    to[axis].extent = output.dim[axis].extent;
  }
  to[input.dimensions - 1].min = 0;
  to[input.dimensions - 1].extent = length;
}

/// Returns the address of a buffer's first element, which for a Func of the pipeline is that of its one row.
template <typename T>
T* first(const HalideBuffer& buffer) {
  return reinterpret_cast<T*>(buffer.host);
}

#if defined(__SIZEOF_INT128__)
using Wide = unsigned __int128;
#else
/// Unsigned integer of 128 bits, with what entries of keys and places need.
class Wide {
 public:
  explicit Wide(uint64_t low) : low_(low) {}

  Wide operator<<(int bits) const { return {low_ << bits, high_ << bits | low_ >> (64 - bits)}; }
  Wide operator>>(int bits) const {
    if (bits >= 64) return Wide(high_ >> (bits - 64));
    return bits == 0 ? *this : Wide{low_ >> bits | high_ << (64 - bits), high_ >> bits};
  }
  Wide operator|(uint32_t bits) const { return {low_ | bits, high_}; }
  explicit operator uint64_t() const { return low_; }
  explicit operator uint32_t() const { return static_cast<uint32_t>(low_); }
  explicit operator uint8_t() const { return static_cast<uint8_t>(low_); }
  friend auto operator<=>(const Wide& a, const Wide& b) = default;

 private:
  Wide(uint64_t low, uint64_t high) : high_(high), low_(low) {}

  uint64_t high_ = 0, low_ = 0;  // in the order in which they are compared
};
#endif

/// Memory for the time of a call, of the kernel's runtime.
template <typename T>
class Room {
 public:
  Room(void* context, size_t count)
      : context_(context), memory_(static_cast<T*>(halide_malloc(context, count * sizeof(T)))) {}
  ~Room() {
    if (memory_ != nullptr) halide_free(context_, memory_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  T* get() const { return memory_; }

 private:
  void* context_;
  T* memory_;
};

/// Calls visit(first, last) for parts of 0 ... count - 1, on the threads of the run. `work` is that of one,
/// in elements: parts have so many that sharing them pays.
template <typename Visit>
void visit_parts(void* context, int64_t count, int64_t work, const Visit& visit) {
  constexpr int64_t least_work = 1 << 14, most_parts = 64;
  const int64_t parts =
      std::clamp<int64_t>(count * work / least_work, 1, std::clamp<int64_t>(count, 1, most_parts));
  auto visit_part = [&](int64_t part) { visit(count * part / parts, count * (part + 1) / parts); };
  using VisitPart = decltype(visit_part);
  const auto task = [](void*, int part, uint8_t* closure) {
    (*reinterpret_cast<VisitPart*>(closure))(part);
    return 0;
  };
  halide_do_par_for(context, task, 0, static_cast<int>(parts), reinterpret_cast<uint8_t*>(&visit_part));
}

}  // namespace intarsia::halide::routines
