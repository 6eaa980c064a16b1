// Kernels of the attention family in separate files.
#pragma once

#include "backends/reference/kernel.h"

namespace intarsia::reference {

/// Limit on heads: more is absurd, and a product with a size (see checked_elements) must fit.
inline constexpr int64_t max_heads = int64_t{1} << 14;

std::span<const KernelEntry> scaled_attention_kernels();
std::span<const KernelEntry> linear_attention_kernels();

}  // namespace intarsia::reference
