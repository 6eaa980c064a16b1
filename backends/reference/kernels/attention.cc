#include "backends/reference/kernels/kernel_families.h"

namespace intarsia::reference {

std::span<const KernelEntry> attention_kernels() { return {}; }

}  // namespace intarsia::reference
