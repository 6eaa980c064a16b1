// Merges axes of a kernel that are contiguous in every tensor: fewer loops, longer inner ones, and
// kernels that differ only in how their sizes are split become one.
#pragma once

#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// An elementwise kernel on [1,64,56,56] becomes one on [200704]; a pointwise convolution on rows and columns
/// becomes one on a single row. Other kernels stay.
void coalesce(Kernel& kernel);

}  // namespace intarsia::halide
