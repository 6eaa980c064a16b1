#include "base/fill_tensor.h"

#include <optional>

namespace intarsia {
namespace {

/// SplitMix64 generator (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Returns a number in [-1, 1) made of 24 random bits.
  float real() { return static_cast<float>(static_cast<int32_t>(bits() >> 40) - (1 << 23)) / (1 << 23); }

 private:
  uint64_t state_;
};

/// Layout of a float narrower than 32 bits, from the most significant bit: sign, exponent, mantissa.
struct NarrowFloat {
  int sign_bits, exponent_bits, mantissa_bits, bias;

  /// Returns the bits of a number with a magnitude from 1/16 to 1 (0 or 1/2 for f4e2m1).
  uint64_t value(uint64_t random) const {
    const int lowest = bias > 4 ? bias - 4 : 0;
    const auto exponent =
        static_cast<uint64_t>(lowest) + (random >> 32) % static_cast<uint64_t>(bias - lowest);
    const uint64_t mantissa = random & ((uint64_t{1} << mantissa_bits) - 1);
    const uint64_t sign = sign_bits == 1 ? (random >> 60) & 1 : 0;
    return (sign << (exponent_bits + mantissa_bits)) | (exponent << mantissa_bits) | mantissa;
  }
};

std::optional<NarrowFloat> narrow_float(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return NarrowFloat{1, 5, 10, 15};
    case DType::bf16:
      return NarrowFloat{1, 8, 7, 127};
    case DType::f8e4m3fn:
      return NarrowFloat{1, 4, 3, 7};
    case DType::f8e4m3fnuz:
      return NarrowFloat{1, 4, 3, 8};
    case DType::f8e5m2:
      return NarrowFloat{1, 5, 2, 15};
    case DType::f8e5m2fnuz:
      return NarrowFloat{1, 5, 2, 16};
    case DType::f4e2m1:
      return NarrowFloat{1, 2, 1, 1};
    case DType::f8e8m0:
      return NarrowFloat{0, 8, 0, 127};
    default:
      return std::nullopt;
  }
}

/// Fills a tensor of 2-bit or 4-bit elements, the first in the lowest bits of a byte; integers if `format` is
/// empty.
void fill_packed(const TensorView& tensor, const std::optional<NarrowFloat>& format, Random& random) {
  const int bits = dtype_bits(tensor.dtype);
  auto* bytes = static_cast<uint8_t*>(tensor.data);
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    uint8_t byte = 0;
    for (int at = 0; at < 8; at += bits) {
      const uint64_t value = format ? format->value(random.bits()) : random.bits() & 1;
      byte = static_cast<uint8_t>(byte | value << at);
    }
    bytes[i] = byte;
  }
}

template <typename T, typename Next>
void fill_with(const TensorView& tensor, Next next) {
  for (T& element : tensor.as<T>()) element = static_cast<T>(next());
}

}  // namespace

Status fill_tensor(const TensorView& tensor, uint64_t seed, uint64_t index_limit) {
  Random random(seed);
  if (tensor.dtype == DType::string || tensor.dtype == DType::undefined) {
    return fail("a {} input cannot be filled, give it", dtype_name(tensor.dtype));
  }
  const std::optional<NarrowFloat> format = narrow_float(tensor.dtype);
  const int bits = dtype_bits(tensor.dtype);
  const uint64_t greatest = index_limit == 1 ? 0 : 1;
  const auto whole = [&]() -> uint64_t {
    return format ? format->value(random.bits()) : random.bits() & greatest;
  };
  const auto real = [&] { return random.real(); };
  TensorView parts = tensor;  // complex numbers as pairs of reals
  parts.shape.push_back(2);
  if (tensor.dtype == DType::f32) {
    fill_with<float>(tensor, real);
  } else if (tensor.dtype == DType::f64) {
    fill_with<double>(tensor, real);
  } else if (tensor.dtype == DType::c64) {
    fill_with<float>(parts, real);
  } else if (tensor.dtype == DType::c128) {
    fill_with<double>(parts, real);
  } else if (bits < 8) {
    fill_packed(tensor, format, random);
  } else if (bits == 8) {
    fill_with<uint8_t>(tensor, whole);
  } else if (bits == 16) {
    fill_with<uint16_t>(tensor, whole);
  } else if (bits == 32) {
    fill_with<uint32_t>(tensor, whole);
  } else {
    fill_with<uint64_t>(tensor, whole);
  }
  return {};
}

}  // namespace intarsia
