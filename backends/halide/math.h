// Functions of one f32 or f64 as expressions that vectorise. Halide's own tanh and erf are calls of the C
// library, one element at a time.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

Halide::Expr tanh_of(Halide::Expr x);
Halide::Expr erf_of(Halide::Expr x);
Halide::Expr sigmoid_of(Halide::Expr x);
Halide::Expr softplus_of(Halide::Expr x);
Halide::Expr gelu_of(Halide::Expr x, bool approximate);
/// x^y for f32; a negative x to a whole y has the sign that the standard says, to another y gives NaN.
Halide::Expr pow_of(Halide::Expr x, Halide::Expr y);

}  // namespace intarsia::halide
