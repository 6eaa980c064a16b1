// Detection of code that writes an element of a kernel's output twice.
#pragma once

#include "backends/halide/build/build_kernel.h"

namespace intarsia::halide {

/// Returns false where a split of the output's loops leaves a remainder, so that the last vector, tile or
/// block starts earlier and repeats some elements.
bool writes_once(const BuiltKernel& kernel);

}  // namespace intarsia::halide
