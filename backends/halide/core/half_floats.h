// Numbers of f16 and bf16 in the compiler.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/dtype.h"
#include "base/tensor_view.h"

namespace intarsia::halide {

/// Checks whether a dtype is a float of 16 bits, in which numbers are stored but not computed.
constexpr bool is_half_float(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// Returns the dtype in which kernels compute with a dtype's numbers.
constexpr DType compute_dtype(DType dtype) { return is_half_float(dtype) ? DType::f32 : dtype; }

/// Returns the number that the bits of a float of 16 bits are.
inline float read_half_float(DType dtype, uint16_t bits) {
  if (dtype == DType::bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}

/// Returns the bits of the nearest float of 16 bits, ties to even.
inline uint16_t round_half_float(DType dtype, float number) {
  if (dtype == DType::f16) return std::bit_cast<uint16_t>(static_cast<_Float16>(number));
  if (std::isnan(number)) return 0x7fc0;
  const auto bits = std::bit_cast<uint32_t>(number);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Rounds a tensor of f32 to a float of 16 bits.
Tensor narrowed(const Tensor& wide, DType dtype);

}  // namespace intarsia::halide
