#include "runtime/source_layout.h"

#include <cstring>

namespace intarsia {

Tensor in_source_layout(const ConstTensorView& stored, std::span<const uint8_t> axes) {
  const Shape stored_strides = row_major_strides(stored.shape);
  Shape shape(axes.size()), strides(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    shape[axes[i]] = stored.shape[i];
    strides[axes[i]] = stored_strides[i];
  }
  Tensor result(stored.dtype, shape);
  const size_t element = dtype_bytes(stored.dtype, 1);
  const auto* from = static_cast<const std::byte*>(stored.data);
  auto* to = static_cast<std::byte*>(result.data());
  Shape at(axes.size());
  int64_t offset = 0;  // offset of the element at `at`, in elements
  for (int64_t left = element_count(shape); left > 0; --left, to += element) {
    std::memcpy(to, from + static_cast<size_t>(offset) * element, element);
    for (size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < shape[axis]) break;
      offset -= at[axis] * strides[axis];
      at[axis] = 0;
    }
  }
  return result;
}

}  // namespace intarsia
