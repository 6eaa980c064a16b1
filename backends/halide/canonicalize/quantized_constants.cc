#include "backends/halide/canonicalize/quantized_constants.h"

#include <algorithm>

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

Tensor permuted(const Tensor& integers, const std::vector<int64_t>& perm) {
  const Shape& from = integers.shape();
  const Shape dense = row_major_strides(from);
  Shape shape, strides;
  for (int64_t axis : perm) {
    shape.push_back(from[static_cast<size_t>(axis)]);
    strides.push_back(dense[static_cast<size_t>(axis)]);
  }
  Tensor made(integers.dtype(), shape);
  const auto* read = static_cast<const uint8_t*>(integers.data());
  auto* write = static_cast<uint8_t*>(made.data());
  for (size_t i = 0; i < made.bytes(); ++i) {
    auto rest = static_cast<int64_t>(i), at = int64_t{0};
    for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
      at += rest % shape[axis] * strides[axis];
    write[i] = read[at];
  }
  return made;
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

}  // namespace intarsia::halide
