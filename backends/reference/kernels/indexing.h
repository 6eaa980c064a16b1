// Helpers of the gathering and scattering kernels.
#pragma once

#include <vector>

#include "backends/reference/kernel.h"

namespace intarsia::reference {

/// Returns the integers of an input as 0 ... size - 1, counted from the end when negative.
Result<std::vector<int64_t>> wrapped_indices(const KernelContext& context, size_t input, int64_t size);

Status require_same_dtype(const KernelContext& context, size_t a, size_t b);

/// Requires an index shape of the same rank as the data's and, except for `axis`, nowhere larger.
Status require_inside(const Shape& data, const Shape& indices, int64_t axis);

/// Tuples of the last axis of input 1 as offsets of blocks in input 0, whose first `batch_dims` axes are
/// those of input 1, relative to the start of a batch.
struct NdIndices {
  std::vector<int64_t> offsets;
  int64_t block = 1;  // elements that one tuple addresses
};
Result<NdIndices> nd_indices(const KernelContext& context, size_t batch_dims);

// scatter.cc
Status scatter_elements(KernelContext& context);
Status scatter_nd(KernelContext& context);

}  // namespace intarsia::reference
