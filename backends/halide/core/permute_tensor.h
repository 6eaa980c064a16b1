// Elements of tensors whose axes are in another order in memory.
#pragma once

#include <span>
#include <vector>

#include "base/tensor_view.h"

namespace intarsia::halide {

/// Returns the distance of an element, counted in row-major order, from the first, given the strides.
int64_t distance_of(int64_t element, std::span<const int64_t> shape, std::span<const int64_t> strides);

/// Returns elements of whole bytes with their axes in another order.
Tensor permuted(const Tensor& tensor, const std::vector<int64_t>& perm);

}  // namespace intarsia::halide
