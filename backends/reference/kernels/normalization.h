// Kernels of the normalization family that stand in files of their own.
#pragma once

#include "backends/reference/kernel.h"

namespace intarsia::reference {

std::span<const KernelEntry> norm_kernels();
std::span<const KernelEntry> softmax_kernels();
std::span<const KernelEntry> loss_kernels();

}  // namespace intarsia::reference
