// Strict comparisons in code for OpenCL.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

/// Makes the comparisons of a pipeline plain, and tests for NaN and infinity tests of bits: Halide's OpenCL
/// code has no vectors of strict comparisons. A driver keeps to IEEE 754 in them, unlike LLVM with what is
/// not strict.
void make_comparisons_plain(Halide::Func output);

}  // namespace intarsia::halide
