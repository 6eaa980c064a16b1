// Functions of one f32 or f64 as expressions that vectorise. Halide's own tanh and erf are calls of the C
// library, one element at a time.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

/// over / under, with under > 0; what multiplies and adds several functions so needs one division.
struct Ratio {
  Halide::Expr over, under;
};
Ratio operator*(const Ratio& a, const Ratio& b);
Ratio operator*(const Ratio& a, Halide::Expr factor);
Ratio operator+(const Ratio& a, const Ratio& b);

/// Of one f32, to a few units in the last place of the largest result, which is 1.
Ratio tanh_ratio(Halide::Expr x);
Ratio sigmoid_ratio(Halide::Expr x);

Halide::Expr tanh_of(Halide::Expr x);
Halide::Expr erf_of(Halide::Expr x);
Halide::Expr sigmoid_of(Halide::Expr x);
Halide::Expr softplus_of(Halide::Expr x);
Halide::Expr gelu_of(Halide::Expr x, bool approximate);
/// x^y for f32; a negative x to a whole y has the sign that the standard says, to another y gives NaN.
Halide::Expr pow_of(Halide::Expr x, Halide::Expr y);

}  // namespace intarsia::halide
