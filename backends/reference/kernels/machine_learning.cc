#include "backends/reference/kernels/kernel_families.h"

namespace intarsia::reference {

std::span<const KernelEntry> machine_learning_kernels() { return {}; }

}  // namespace intarsia::reference
