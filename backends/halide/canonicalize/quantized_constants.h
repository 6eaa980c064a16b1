// Numbers of quantized constants: integers of 4 or 8 bits that stand for scale * (integer - zero).
#pragma once

#include <vector>

#include "base/tensor_view.h"

namespace intarsia::halide {

/// Returns integers of 8 bits as u8 or i8: a u8 is 128 more than the i8 of the same number.
Tensor with_other_sign(const Tensor& integers, DType dtype);

/// Returns the numbers that integers of u8 stand for. Scales and zeros broadcast to the integers' shape; both
/// have the same shape.
Tensor dequantize(const Tensor& integers, const Tensor& scale, const Tensor& zero);

/// Returns the numbers, of the scale's type, that integers of 4 or 8 bits stand for: with one scale for all,
/// for each index of an axis, or for each block of indices. A null zero is 0.
Tensor dequantize_blocks(const Tensor& integers, const Tensor& scale, const Tensor* zero, int64_t axis,
                         int64_t block);

/// Returns integers of 4 or 8 bits, one in a byte. Signed ones have as much added that the least is 0.
Tensor as_bytes(const Tensor& integers);

/// Returns the sum of the integers of i8 at each index of an axis.
std::vector<int64_t> sums_along(const Tensor& integers, size_t axis);

/// Returns the i32 sums of the columns of matrices of i8; the rows become one.
Tensor sums_of_columns(const Tensor& matrices);

}  // namespace intarsia::halide
