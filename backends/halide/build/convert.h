// Conversion of numbers from one type to another.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

/// Converts as the reference kernels do: floats beyond the range of an integer saturate, NaN becomes 0,
/// integers wrap, anything to bool is a comparison with zero, and what is rounded to a float of 16 bits is
/// rounded once, from f64 too. The caller makes the result strict.
Halide::Expr convert(Halide::Type to, const Halide::Expr& x);

/// Rounds f32 to bf16, 32 of them in one instruction (`vcvtne2ps2bf16`), as denormal numbers to zero. The
/// function that computes it has vectors of 32, and code for a kind of processor with dot products.
Halide::Expr round_pairs_to_bf16(const Halide::Expr& x);

}  // namespace intarsia::halide
