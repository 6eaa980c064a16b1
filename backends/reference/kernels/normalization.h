// Kernels of the normalization family in separate files.
#pragma once

#include "backends/reference/kernel.h"

namespace intarsia::reference {

std::span<const KernelEntry> norm_kernels();
std::span<const KernelEntry> softmax_kernels();
std::span<const KernelEntry> loss_kernels();

}  // namespace intarsia::reference
