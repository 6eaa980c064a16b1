// Helpers of the kernels that only rearrange elements.
#pragma once

#include <vector>

#include "backends/reference/kernels/dispatch.h"

namespace intarsia::reference {

/// Copies the input to an output with other sizes: same dtype, same number of elements, same order.
Status copy_to_output(KernelContext& context, const Shape& shape);

/// Sets to[i] = from[from_offset + sum of index * from_strides] for every element i of `to`, in row-major
/// order. The offsets must be inside `from`; the dtypes are equal.
Status copy_strided(const ConstTensorView& from, int64_t from_offset, const Shape& from_strides,
                    const TensorView& to);

/// Index in the input that each index of the output reads, by axis of the output; -1 reads the fill.
using AxisMaps = std::vector<std::vector<int64_t>>;

/// Sets to[i, j, ...] = from[maps[0][i], maps[1][j], ...], or the one element of `fill` where a map says -1.
/// Empty outputs have empty maps; no fill is needed if no map has -1.
Status copy_mapped(const ConstTensorView& from, const AxisMaps& maps, const Tensor* fill,
                   const TensorView& to);

/// Returns 0 ... size - 1.
std::vector<int64_t> identity_map(int64_t size);

/// Returns the one integer of an i32 or i64 input.
Result<int64_t> input_int(const KernelContext& context, size_t input);

/// Requires the input's rank to be `rank`; the error says what it is.
Status require_rank(const KernelContext& context, size_t input, size_t rank);

}  // namespace intarsia::reference
