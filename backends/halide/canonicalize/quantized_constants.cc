#include "backends/halide/canonicalize/quantized_constants.h"

#include <algorithm>
#include <cstring>

#include "backends/halide/core/half_floats.h"

namespace intarsia::halide {
namespace {

/// Returns, for each element of `shape`, the element of a tensor that broadcasts to it.
class Broadcast {
 public:
  Broadcast(const Shape& from, const Shape& shape) : shape_(shape), strides_(shape.size(), 0) {
    const Shape dense = row_major_strides(from);
    for (size_t i = 1; i <= from.size(); ++i)
      if (from[from.size() - i] != 1) strides_[shape.size() - i] = dense[from.size() - i];
  }

  size_t operator()(size_t element) const {
    auto rest = static_cast<int64_t>(element), at = int64_t{0};
    for (size_t i = shape_.size(); i-- > 0; rest /= shape_[i]) at += rest % shape_[i] * strides_[i];
    return static_cast<size_t>(at);
  }

 private:
  const Shape& shape_;
  Shape strides_;
};

bool is_signed(DType dtype) { return dtype == DType::i8 || dtype == DType::i4; }

float read_number(const Tensor& floats, int64_t i) {
  const auto at = static_cast<size_t>(i);
  return floats.dtype() == DType::f32 ? floats.as<float>()[at]
                                      : read_half_float(floats.dtype(), floats.as<uint16_t>()[at]);
}

void write_number(Tensor& floats, int64_t i, float number) {
  const auto at = static_cast<size_t>(i);
  if (floats.dtype() == DType::f32)
    floats.as<float>()[at] = number;
  else
    floats.as<uint16_t>()[at] = round_half_float(floats.dtype(), number);
}

}  // namespace

Tensor with_other_sign(const Tensor& integers, DType dtype) {
  if (integers.dtype() == dtype) return integers;
  Tensor made(dtype, integers.shape());
  const auto* from = static_cast<const uint8_t*>(integers.data());
  std::transform(from, from + integers.bytes(), static_cast<uint8_t*>(made.data()),
                 [](uint8_t bits) { return static_cast<uint8_t>(bits ^ 0x80); });
  return made;
}

Tensor dequantize(const Tensor& integers, const Tensor& scale, const Tensor& zero) {
  Tensor numbers(DType::f32, integers.shape());
  const Broadcast at(scale.shape(), integers.shape());
  const auto from = integers.as<uint8_t>(), zeros = zero.as<uint8_t>();
  const auto scales = scale.as<float>(), to = numbers.as<float>();
  for (size_t i = 0; i < from.size(); ++i)
    to[i] = static_cast<float>(int{from[i]} - int{zeros[at(i)]}) * scales[at(i)];
  return numbers;
}

Tensor as_bytes(const Tensor& integers) {
  if (dtype_bits(integers.dtype()) == 8) return with_other_sign(integers, DType::u8);
  Tensor bytes(DType::u8, integers.shape());
  const auto* from = static_cast<const uint8_t*>(integers.data());
  const int flipped = integers.dtype() == DType::i4 ? 8 : 0;
  const std::span<uint8_t> to = bytes.as<uint8_t>();
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<uint8_t>((from[i / 2] >> (i % 2 * 4) & 15) ^ flipped);
  return bytes;
}

Tensor dequantize_blocks(const Tensor& integers, const Tensor& scale, const Tensor* zero, int64_t axis,
                         int64_t block) {
  const Tensor bytes = as_bytes(integers);
  const int offset = is_signed(integers.dtype()) ? 1 << (dtype_bits(integers.dtype()) - 1) : 0;
  const Tensor zeros = zero != nullptr ? as_bytes(*zero) : Tensor();
  const bool is_one = element_count(scale.shape()) == 1;
  const Shape& shape = integers.shape();
  const int64_t size = is_one ? 1 : shape[static_cast<size_t>(axis)];
  const int64_t inner =
      is_one ? 1 : element_count(Shape(shape.begin() + static_cast<ptrdiff_t>(axis) + 1, shape.end()));
  const int64_t blocks = block == 0 ? size : (size + block - 1) / block;
  const std::span<uint8_t> all = bytes.as<uint8_t>(), all_zeros = zeros.as<uint8_t>();
  Tensor numbers(scale.dtype(), shape);
  for (int64_t i = 0; i < std::ssize(all); ++i) {
    const int64_t k = i / inner % size;
    const int64_t at = is_one       ? 0
                       : block == 0 ? k
                                    : (i / inner / size * blocks + k / block) * inner + i % inner;
    const int from = zero == nullptr ? offset : all_zeros[static_cast<size_t>(at)];
    write_number(numbers, i, static_cast<float>(all[static_cast<size_t>(i)] - from) * read_number(scale, at));
  }
  return numbers;
}

std::vector<int64_t> sums_along(const Tensor& integers, size_t axis) {
  const Shape& shape = integers.shape();
  const auto size = static_cast<size_t>(shape[axis]);
  const auto inner = static_cast<size_t>(
      element_count(Shape(shape.begin() + static_cast<ptrdiff_t>(axis) + 1, shape.end())));
  std::vector<int64_t> sums(size, 0);
  const auto numbers = integers.as<int8_t>();
  for (size_t i = 0; i < numbers.size(); ++i) sums[i / inner % size] += numbers[i];
  return sums;
}

Tensor sums_of_columns(const Tensor& matrices) {
  Shape shape = matrices.shape();
  const auto rows = static_cast<size_t>(shape[shape.size() - 2]), columns = static_cast<size_t>(shape.back());
  shape[shape.size() - 2] = 1;
  Tensor sums(DType::i32, shape);
  const auto numbers = matrices.as<int8_t>();
  const auto of_columns = sums.as<int32_t>();
  std::ranges::fill(of_columns, 0);
  for (size_t i = 0; i < numbers.size(); ++i)
    of_columns[i / (rows * columns) * columns + i % columns] += numbers[i];
  return sums;
}

}  // namespace intarsia::halide
