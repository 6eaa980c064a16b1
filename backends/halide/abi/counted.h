// Outputs whose size a kernel counts: a header, whose first 8 bytes are the count, then as many elements as
// there are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intarsia::halide {

/// Bytes of the header; what follows it is aligned as memory of its own.
inline constexpr size_t counted_header = 64;

}  // namespace intarsia::halide
