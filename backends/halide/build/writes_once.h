// Whether a kernel's code writes any element of its output twice.
#pragma once

#include "backends/halide/build/build_kernel.h"

namespace intarsia::halide {

/// False where a split of the output's loops leaves a remainder, so that the last vector, tile or block
/// begins earlier and repeats some elements.
bool writes_once(const BuiltKernel& kernel);

}  // namespace intarsia::halide
