// Functions of one f32 or f64 as expressions that vectorize. Halide's own tanh and erf are calls of the C
// library, one element at a time; its exp and log lose NaN and infinity.
//
// LLVM may contract and reorder what is not strict (Halide::strict_float), and may assume that it contains no
// NaN and no infinity. Therefore the polynomials here are not strict and get only finite numbers, and the
// tests for NaN and infinity are strict. A caller must not make the results strict: products and sums would
// not contract.
#pragma once

#include <Halide.h>

#include <functional>
#include <vector>

namespace intarsia::halide {

/// Returns f(inputs), strict in what f adds; the expressions of the inputs stay as they are.
Halide::Expr strictly(const std::vector<Halide::Expr>& inputs,
                      const std::function<Halide::Expr(const std::vector<Halide::Expr>&)>& f);

/// Returns the larger or the smaller number; NaN if one is NaN, as in numpy. Callers make the result strict.
Halide::Expr larger(Halide::Expr a, Halide::Expr b);
Halide::Expr smaller(Halide::Expr a, Halide::Expr b);

/// Checks the bits of an f32, which may be a sum of products: LLVM assumes that such a sum is not NaN.
Halide::Expr has_bits_of_nan(const Halide::Expr& x);

/// Quotient over / under, with under > 0; products and sums of several functions then need only one division.
struct Ratio {
  Halide::Expr over, under;
};
Ratio operator*(const Ratio& a, const Ratio& b);
Ratio operator*(const Ratio& a, Halide::Expr factor);
Ratio operator+(const Ratio& a, const Ratio& b);

/// Computes tanh or sigmoid of an f32, to a few units in the last place of the largest result, which is 1.
Ratio tanh_ratio(Halide::Expr x);
Ratio sigmoid_ratio(Halide::Expr x);

Halide::Expr exp_of(Halide::Expr x);
/// Computes exp of a number that is at most zero, or NaN, with less work; an f32 that would be denormal is 0.
Halide::Expr exp_of_nonpositive(Halide::Expr x);
Halide::Expr log_of(Halide::Expr x);
Halide::Expr tanh_of(Halide::Expr x);
Halide::Expr erf_of(Halide::Expr x);
Halide::Expr sigmoid_of(Halide::Expr x);
Halide::Expr softplus_of(Halide::Expr x);
Halide::Expr mish_of(Halide::Expr x);
Halide::Expr gelu_of(Halide::Expr x, bool approximate);
/// Computes alpha * (exp(x / steepness) - 1) below zero, x elsewhere.
Halide::Expr elu_of(Halide::Expr x, Halide::Expr alpha, Halide::Expr steepness);
/// Computes x^y for f32; a negative x to an integral y has the sign that C's pow gives it, to any other y
/// gives NaN.
Halide::Expr pow_of(Halide::Expr x, Halide::Expr y);

}  // namespace intarsia::halide
