// Strict comparisons in code for OpenCL.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

/// Makes the comparisons of a pipeline plain, and turns tests for NaN and infinity into tests of bits:
/// Halide's OpenCL code has no vectors of strict comparisons. Drivers keep to IEEE 754 in plain ones, unlike
/// LLVM.
void make_comparisons_plain(Halide::Func output);

}  // namespace intarsia::halide
