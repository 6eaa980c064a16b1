#include "backends/reference/kernels/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace intarsia::reference {
namespace {

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool infinity;       // the highest exponent holds infinities and NaNs, as in IEEE 754
  bool unsigned_zero;  // "fnuz": no negative zero, whose bits are the one NaN
  double largest;      // largest finite value
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {5, 10, 15, true, false, 65504.0};
    case DType::bf16:
      return {8, 7, 127, true, false, 0x1.FEp127};
    case DType::f8e4m3fn:
      return {4, 3, 7, false, false, 448.0};
    case DType::f8e4m3fnuz:
      return {4, 3, 8, false, true, 240.0};
    case DType::f8e5m2:
      return {5, 2, 15, true, false, 57344.0};
    case DType::f8e5m2fnuz:
      return {5, 2, 16, false, true, 57344.0};
    default:
      return {2, 1, 1, false, false, 6.0};  // f4e2m1
  }
}

uint32_t nan_bits(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 0x7E00;
    case DType::bf16:
      return 0x7FC0;
    case DType::f8e4m3fn:
      return 0x7F;
    case DType::f8e5m2:
      return 0x7E;
    case DType::f4e2m1:
      return 0x8;  // negative zero, as in ml_dtypes, since the format has no NaN
    default:
      return 0x80;  // the fnuz formats
  }
}

// Returns the power of two of f8e8m0: bits - 127; all ones is NaN.
float decode_e8m0(uint32_t bits) {
  return bits == 0xFF ? std::numeric_limits<float>::quiet_NaN()
                      : std::ldexp(1.0f, static_cast<int>(bits) - 127);
}

// Returns the bits of `magnitude`, which the format represents exactly.
uint32_t pack_magnitude(const FloatFormat& format, double magnitude) {
  if (magnitude == 0) return 0;
  const int least = 1 - format.bias;
  int exponent = std::max(std::ilogb(magnitude), least);
  const auto steps = static_cast<uint32_t>(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const uint32_t one = 1u << format.mantissa_bits;
  if (steps < one) return steps;  // subnormal
  return (static_cast<uint32_t>(exponent + format.bias) << format.mantissa_bits) + (steps - one);
}

bool saturates(DType dtype, bool saturate) {
  if (dtype == DType::f16 || dtype == DType::bf16) return false;
  if (dtype == DType::f4e2m1) return true;
  return saturate;
}

}  // namespace

float decode_float(DType dtype, uint32_t bits) {
  if (dtype == DType::f8e8m0) return decode_e8m0(bits);
  if (dtype == DType::bf16) return std::bit_cast<float>(bits << 16);
  const FloatFormat format = format_of(dtype);
  const int sign_bit = format.exponent_bits + format.mantissa_bits;
  const bool negative = (bits >> sign_bit) & 1;
  if (format.unsigned_zero && bits == 0x80) return std::numeric_limits<float>::quiet_NaN();
  const uint32_t magnitude = bits & ((1u << sign_bit) - 1);
  const uint32_t exponent = magnitude >> format.mantissa_bits;
  const uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  float value;
  if (dtype == DType::f8e4m3fn && magnitude == 0x7F) {
    value = std::numeric_limits<float>::quiet_NaN();
  } else if (format.infinity && exponent == (1u << format.exponent_bits) - 1) {
    value = mantissa ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  } else {
    const uint32_t steps = exponent ? mantissa + (1u << format.mantissa_bits) : mantissa;
    const int power = static_cast<int>(std::max(exponent, 1u)) - format.bias - format.mantissa_bits;
    value = std::ldexp(static_cast<float>(steps), power);
  }
  return negative ? -value : value;
}

uint32_t encode_e8m0(double value, bool saturate, PowerRounding rounding) {
  if (std::isnan(value) || value < 0) return 0xFF;
  if (std::isinf(value)) return saturate ? 0xFE : 0xFF;
  if (value == 0) return saturate ? 0 : 0xFF;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent) * 2;  // in [1, 2)
  int power = exponent - 1;
  if (rounding == PowerRounding::up && mantissa > 1) ++power;
  if (rounding == PowerRounding::nearest && mantissa >= 1.5) ++power;
  if (!saturate && (power > 127 || power < -127)) return 0xFF;
  return static_cast<uint32_t>(std::clamp(power, -127, 127) + 127);
}

uint32_t encode_float(DType dtype, double value, bool saturate) {
  if (dtype == DType::f8e8m0) return encode_e8m0(value, saturate, PowerRounding::up);
  const FloatFormat format = format_of(dtype);
  const int sign_bit = format.exponent_bits + format.mantissa_bits;
  const uint32_t sign = std::signbit(value) ? 1u << sign_bit : 0;
  if (std::isnan(value)) return format.unsigned_zero ? nan_bits(dtype) : sign | nan_bits(dtype);
  double magnitude = std::fabs(value);
  if (magnitude != 0 && !std::isinf(magnitude)) {
    const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
    const double quantum = std::ldexp(1.0, exponent - format.mantissa_bits);
    magnitude = std::nearbyint(magnitude / quantum) * quantum;
  }
  if (magnitude > format.largest) {
    if (!saturates(dtype, saturate)) {
      if (format.infinity) return sign | (((1u << format.exponent_bits) - 1) << format.mantissa_bits);
      return format.unsigned_zero ? nan_bits(dtype) : sign | nan_bits(dtype);
    }
    magnitude = format.largest;
  }
  const uint32_t bits = pack_magnitude(format, magnitude);
  return bits == 0 && format.unsigned_zero ? 0 : sign | bits;
}

uint32_t load_bits(const ConstTensorView& view, int64_t i) {
  const int bits = dtype_bits(view.dtype);
  if (bits == 16) return static_cast<const uint16_t*>(view.data)[i];
  const auto* bytes = static_cast<const uint8_t*>(view.data);
  if (bits == 8) return bytes[i];
  const int64_t per_byte = 8 / bits;
  return (bytes[i / per_byte] >> (i % per_byte * bits)) & ((1u << bits) - 1);
}

void store_bits(const TensorView& view, int64_t i, uint32_t value) {
  const int bits = dtype_bits(view.dtype);
  auto* bytes = static_cast<uint8_t*>(view.data);
  if (bits == 16) {
    static_cast<uint16_t*>(view.data)[i] = static_cast<uint16_t>(value);
  } else if (bits == 8) {
    bytes[i] = static_cast<uint8_t>(value);
  } else {
    const int64_t per_byte = 8 / bits;
    const int shift = static_cast<int>(i % per_byte) * bits;
    const uint32_t mask = ((1u << bits) - 1) << shift;
    uint8_t& byte = bytes[i / per_byte];
    byte = static_cast<uint8_t>((byte & ~mask) | ((value << shift) & mask));
  }
}

bool is_number(DType dtype) { return is_float(dtype) || is_integer(dtype) || dtype == DType::boolean; }

namespace {

// Calls `use` with a null pointer of the element's C++ type; returns false for dtypes that have none.
template <typename F>
bool with_native(DType dtype, F&& use) {
  switch (dtype) {
    case DType::f32:
      return use(static_cast<float*>(nullptr)), true;
    case DType::f64:
      return use(static_cast<double*>(nullptr)), true;
    case DType::i8:
      return use(static_cast<int8_t*>(nullptr)), true;
    case DType::i16:
      return use(static_cast<int16_t*>(nullptr)), true;
    case DType::i32:
      return use(static_cast<int32_t*>(nullptr)), true;
    case DType::i64:
      return use(static_cast<int64_t*>(nullptr)), true;
    case DType::u8:
      return use(static_cast<uint8_t*>(nullptr)), true;
    case DType::u16:
      return use(static_cast<uint16_t*>(nullptr)), true;
    case DType::u32:
      return use(static_cast<uint32_t*>(nullptr)), true;
    case DType::u64:
      return use(static_cast<uint64_t*>(nullptr)), true;
    case DType::boolean:
      return use(static_cast<bool*>(nullptr)), true;
    default:
      return false;
  }
}

int64_t sign_extend(DType dtype, uint32_t bits) {
  const int width = dtype_bits(dtype);
  const bool is_signed = dtype == DType::i4 || dtype == DType::i2;
  return is_signed && (bits >> (width - 1)) & 1 ? static_cast<int64_t>(bits) - (int64_t{1} << width) : bits;
}

// Returns an integer of which only the low bits are stored: packed integers wrap, also from floats.
template <typename T>
uint32_t narrow_integer(T value) {
  return static_cast<uint32_t>(static_cast<uint64_t>(convert<int64_t>(value)));
}

}  // namespace

template <typename T>
void read_numbers(const ConstTensorView& from, T* to) {
  const int64_t count = element_count(from.shape);
  const bool native = with_native(from.dtype, [&](auto* pointer) {
    const auto* data = static_cast<const std::remove_pointer_t<decltype(pointer)>*>(from.data);
    for (int64_t i = 0; i < count; ++i) to[i] = convert<T>(data[i]);
  });
  if (native) return;
  if (!is_number(from.dtype)) return void(std::fill_n(to, count, T()));
  const bool floating = is_float(from.dtype);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = load_bits(from, i);
    to[i] = floating ? convert<T>(decode_float(from.dtype, bits)) : convert<T>(sign_extend(from.dtype, bits));
  }
}

template <typename T>
void write_numbers(const T* from, const TensorView& to) {
  const int64_t count = element_count(to.shape);
  const bool native = with_native(to.dtype, [&](auto* pointer) {
    auto* data = static_cast<decltype(pointer)>(to.data);
    for (int64_t i = 0; i < count; ++i) data[i] = convert<std::remove_pointer_t<decltype(pointer)>>(from[i]);
  });
  if (native || !is_number(to.dtype)) return;
  const bool floating = is_float(to.dtype);
  for (int64_t i = 0; i < count; ++i) {
    store_bits(to, i,
               floating ? encode_float(to.dtype, static_cast<double>(from[i])) : narrow_integer(from[i]));
  }
}

#define INTARSIA_INSTANTIATE(T)                              \
  template void read_numbers<T>(const ConstTensorView&, T*); \
  template void write_numbers<T>(const T*, const TensorView&);
INTARSIA_INSTANTIATE(bool)
INTARSIA_INSTANTIATE(float)
INTARSIA_INSTANTIATE(double)
INTARSIA_INSTANTIATE(int8_t)
INTARSIA_INSTANTIATE(int16_t)
INTARSIA_INSTANTIATE(int32_t)
INTARSIA_INSTANTIATE(int64_t)
INTARSIA_INSTANTIATE(uint8_t)
INTARSIA_INSTANTIATE(uint16_t)
INTARSIA_INSTANTIATE(uint32_t)
INTARSIA_INSTANTIATE(uint64_t)
#undef INTARSIA_INSTANTIATE

}  // namespace intarsia::reference
