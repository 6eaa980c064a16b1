// Writing of outputs whose count is before them (abi/counted.h).
#pragma once

#include <cstring>

#include "backends/halide/abi/counted.h"
#include "backends/halide/routines/routine.h"

namespace intarsia::halide::routines {

inline CountedHeader& header_of(const HalideBuffer& output) {
  return *reinterpret_cast<CountedHeader*>(output.host);
}

/// Writes the count into the header, and returns where the first element belongs.
inline uint8_t* set_count(const HalideBuffer& output, int64_t count) {
  CountedHeader& header = header_of(output);
  header.count = count;
  header.is_offered = header.offered != nullptr &&
                      header.inverted == ~reinterpret_cast<uintptr_t>(header.offered) &&
                      count == header.offered_count;
  return header.is_offered != 0 ? static_cast<uint8_t*>(header.offered) : output.host + counted_header;
}

/// Copies elements that are `stride` elements apart, one after the other.
inline void copy_elements(uint8_t* to, const uint8_t* from, int64_t count, int64_t stride, int64_t bytes) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * bytes, from + i * stride * bytes, static_cast<size_t>(bytes));
}

}  // namespace intarsia::halide::routines
