// Names of kernels' code.
#pragma once

#include <string>

#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// Returns "intarsia_<digest of the text>": kernels with equal text have equal names. `checks` tells whether
/// the code has Halide's asserts and bounds checks.
std::string name_of(const Kernel& kernel, bool checks);

}  // namespace intarsia::halide
