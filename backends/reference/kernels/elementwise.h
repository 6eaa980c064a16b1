// Kernels of the elementwise family in separate files.
#pragma once

#include "backends/reference/kernel.h"

namespace intarsia::reference {

std::span<const KernelEntry> unary_kernels();
std::span<const KernelEntry> binary_kernels();
std::span<const KernelEntry> cast_kernels();
std::span<const KernelEntry> select_kernels();

}  // namespace intarsia::reference
