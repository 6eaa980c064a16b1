// Range checks of indices read from data.
#pragma once

#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// Returns what must be checked at run time of a kernel whose anchor moves data. `constants` has the kernel's
/// inputs, null where one is not known; those whose elements are all valid need no check.
std::vector<IndexCheck> index_checks(const Kernel& kernel, const std::vector<const Tensor*>& constants);

}  // namespace intarsia::halide
