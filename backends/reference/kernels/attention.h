// Kernels of the attention family that stand in files of their own.
#pragma once

#include "backends/reference/kernel.h"

namespace intarsia::reference {

std::span<const KernelEntry> scaled_attention_kernels();
std::span<const KernelEntry> linear_attention_kernels();

}  // namespace intarsia::reference
