// What a kernel's code is called.
#pragma once

#include <string>

#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// "intarsia_<digest of the text>": kernels with equal text have equal names. `checks`: of its code with
/// Halide's asserts and bounds checks.
std::string name_of(const Kernel& kernel, bool checks);

}  // namespace intarsia::halide
