#include "backends/halide/core/permute_tensor.h"

#include <cstring>

namespace intarsia::halide {

int64_t distance_of(int64_t element, std::span<const int64_t> shape, std::span<const int64_t> strides) {
  int64_t distance = 0;
  for (size_t i = shape.size(); i-- > 0; element /= shape[i]) distance += element % shape[i] * strides[i];
  return distance;
}

Tensor permuted(const Tensor& tensor, const std::vector<int64_t>& perm) {
  const Shape dense = row_major_strides(tensor.shape());
  Shape shape, strides;
  for (int64_t axis : perm) {
    shape.push_back(tensor.shape()[static_cast<size_t>(axis)]);
    strides.push_back(dense[static_cast<size_t>(axis)]);
  }
  Tensor made(tensor.dtype(), shape);
  const auto bytes = static_cast<size_t>(dtype_bits(tensor.dtype()) / 8);
  const auto* read = static_cast<const uint8_t*>(tensor.data());
  auto* write = static_cast<uint8_t*>(made.data());
  for (int64_t i = 0; i < element_count(shape); ++i, write += bytes)
    std::memcpy(write, read + static_cast<size_t>(distance_of(i, shape, strides)) * bytes, bytes);
  return made;
}

}  // namespace intarsia::halide
