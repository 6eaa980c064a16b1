// Conversion of numbers of every dtype to and from the native C++ types. Small floats (f16, bf16, 8 and 4
// bits) are read as f32 and rounded to nearest even when written; packed integers (4 and 2 bits) hold the
// first element in the lowest bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/tensor_view.h"

namespace intarsia::reference {

/// Returns the value of the bits of a small float (at most 16 bits).
float decode_float(DType dtype, uint32_t bits);

/// Returns the nearest small float, ties to even. Anything above the largest finite value becomes that value
/// with `saturate`, else infinity or, in a format without infinities, NaN (the tables of the ONNX operator
/// Cast). f16 and bf16 never saturate, f4e2m1 always does; f8e8m0 rounds up.
uint32_t encode_float(DType dtype, double value, bool saturate = true);

/// Rounding to f8e8m0, which is a power of two (bits - 127; all ones is NaN). The modes are those of the
/// attribute round_mode of Cast.
enum class PowerRounding { up, down, nearest };
uint32_t encode_e8m0(double value, bool saturate, PowerRounding rounding);

/// Returns the bits of element i of a tensor with elements of at most 16 bits; store_bits is the reverse.
uint32_t load_bits(const ConstTensorView& view, int64_t i);
void store_bits(const TensorView& view, int64_t i, uint32_t bits);

/// Checks whether read_numbers and write_numbers take the dtype: all except undefined, string and complex.
bool is_number(DType dtype);

/// Converts a number to To, one of bool, float, double and the integers of 8 to 64 bits. Floats outside the
/// range of an integer saturate, NaN gives 0; integers wrap.
template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    // Limits as doubles: 2^63 and 2^64 are exact, and what is not below them is out of range.
    if (static_cast<double>(value) >= static_cast<double>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    if (static_cast<double>(value) <= static_cast<double>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

/// Reads all elements as T, by `convert`.
template <typename T>
void read_numbers(const ConstTensorView& from, T* to);

/// Writes all elements; rounds, saturates and wraps likewise (see encode_float for small floats).
template <typename T>
void write_numbers(const T* from, const TensorView& to);

}  // namespace intarsia::reference
