#include "measure/compare_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace intarsia {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Float format of at most 16 bits, by its fields (IEEE 754 binary16, bfloat16, OCP 8-bit and 4-bit formats).
struct NarrowFormat {
  int exponent_bits, mantissa_bits, bias;
  bool is_signed = true;
  enum class Specials { ieee, nan_all_ones, nan_negative_zero, none } specials = Specials::ieee;
};

NarrowFormat format_of(DType dtype) {
  using enum NarrowFormat::Specials;
  switch (dtype) {
    case DType::f16:
      return {5, 10, 15};
    case DType::bf16:
      return {8, 7, 127};
    case DType::f8e5m2:
      return {5, 2, 15};
    case DType::f8e4m3fn:
      return {4, 3, 7, true, nan_all_ones};
    case DType::f8e4m3fnuz:
      return {4, 3, 8, true, nan_negative_zero};
    case DType::f8e5m2fnuz:
      return {5, 2, 16, true, nan_negative_zero};
    case DType::f8e8m0:
      return {8, 0, 127, false, nan_all_ones};
    default:
      return {2, 1, 1, true, none};  // f4e2m1
  }
}

double decode(const NarrowFormat& format, uint32_t bits) {
  using enum NarrowFormat::Specials;
  const int magnitude_bits = format.exponent_bits + format.mantissa_bits;
  const uint32_t magnitude = bits & ((1u << magnitude_bits) - 1);
  const bool negative = format.is_signed && (bits >> magnitude_bits & 1) != 0;
  const uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  if (format.specials == nan_negative_zero && negative && magnitude == 0) return no_number;
  if (format.specials == nan_all_ones && magnitude == (1u << magnitude_bits) - 1) return no_number;
  double value = 0;
  if (format.specials == ieee && exponent == (1 << format.exponent_bits) - 1) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : no_number;
  } else if (exponent == 0 && format.is_signed) {
    value = std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits);
  } else {
    value =
        std::ldexp((1u << format.mantissa_bits) + mantissa, exponent - format.bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

/// Reads element `i` of a real tensor, or real number `i` of a complex one.
double read_real(const TensorView& tensor, size_t i) {
  switch (tensor.dtype) {
    case DType::f32:
    case DType::c64:
      return static_cast<const float*>(tensor.data)[i];
    case DType::f64:
    case DType::c128:
      return static_cast<const double*>(tensor.data)[i];
    case DType::f16:
    case DType::bf16:
      return decode(format_of(tensor.dtype), static_cast<const uint16_t*>(tensor.data)[i]);
    case DType::f4e2m1:
      return decode(format_of(tensor.dtype),
                    static_cast<const uint8_t*>(tensor.data)[i / 2] >> (i % 2 * 4) & 15);
    default:
      return decode(format_of(tensor.dtype), static_cast<const uint8_t*>(tensor.data)[i]);
  }
}

Difference compare_reals(const TensorView& actual, const TensorView& reference, const Tolerance& tolerance) {
  const size_t count =
      static_cast<size_t>(element_count(reference.shape)) * (is_complex(reference.dtype) ? 2 : 1);
  Difference difference{true, 0, 0, {}};
  double largest = 0;
  size_t worst = 0;
  for (size_t i = 0; i < count; ++i) {
    const double a = read_real(actual, i), b = read_real(reference, i);
    if (std::isfinite(b)) largest = std::max(largest, std::abs(b));
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!std::isfinite(a) || !std::isfinite(b))
      return {false, no_number, no_number, fmt::format("element {} is {}, want {}", i, a, b)};
    if (std::abs(a - b) <= difference.max_abs) continue;
    difference.max_abs = std::abs(a - b);
    worst = i;
  }
  difference.max_rel = largest > 0 ? difference.max_abs / largest : difference.max_abs;
  const double least = tolerance.widens ? rounding_tolerance(reference.dtype) : 0;
  const double allowed = tolerance.atol + std::max(tolerance.rtol, least) * largest;
  if (difference.max_abs <= allowed) return difference;
  difference.ok = false;
  difference.why =
      fmt::format("element {} is {}, want {}; differs by {:.3g}, allowed {:.3g}", worst,
                  read_real(actual, worst), read_real(reference, worst), difference.max_abs, allowed);
  return difference;
}

/// Finds the first element whose bytes or text differ: "element 3".
std::string find_first_difference(const TensorView& actual, const TensorView& reference) {
  const size_t count = static_cast<size_t>(element_count(reference.shape));
  if (reference.dtype == DType::string) {
    for (size_t i = 0; i < count; ++i) {
      if (actual.as<std::string>()[i] != reference.as<std::string>()[i]) return fmt::format("element {}", i);
    }
  }
  const size_t bits = static_cast<size_t>(dtype_bits(reference.dtype));
  for (size_t i = 0; i < reference.bytes() && reference.dtype != DType::string; ++i) {
    if (static_cast<const char*>(actual.data)[i] != static_cast<const char*>(reference.data)[i])
      return fmt::format("element {}", i * 8 / bits);
  }
  return "an element";
}

}  // namespace

Difference compare_tensors(const TensorView& actual, const TensorView& reference,
                           const Tolerance& tolerance) {
  if (actual.dtype != reference.dtype) {
    return {false, no_number, no_number,
            fmt::format("has dtype {}, want {}", dtype_name(actual.dtype), dtype_name(reference.dtype))};
  }
  if (actual.shape != reference.shape) {
    return {false, no_number, no_number,
            fmt::format("has shape {}, want {}", print_shape(actual.shape), print_shape(reference.shape))};
  }
  if (is_float(reference.dtype) || is_complex(reference.dtype))
    return compare_reals(actual, reference, tolerance);
  if (same_tensor(actual, reference)) return {true, 0, 0, {}};
  return {false, no_number, no_number, find_first_difference(actual, reference) + " differs; want equal"};
}

}  // namespace intarsia
