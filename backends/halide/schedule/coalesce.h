// Merging of a kernel's axes that are contiguous in every tensor: fewer loops, longer inner ones, and kernels
// that differ only in how their sizes are split become one.
#pragma once

#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// Turns an elementwise kernel on [1,64,56,56] into one on [200704], and a pointwise convolution on rows and
/// columns into one on a single row. Other kernels stay.
void coalesce(Kernel& kernel);

}  // namespace intarsia::halide
