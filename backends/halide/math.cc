#include "backends/halide/math.h"

#include <initializer_list>
#include <limits>

namespace intarsia::halide {
namespace {

using Halide::Expr;

/// Horner's rule, highest power first.
Expr polynomial(const Expr& x, std::initializer_list<float> coefficients) {
  Expr sum = 0.0f;
  for (float coefficient : coefficients) sum = sum * x + coefficient;
  return sum;
}

}  // namespace

Ratio operator*(const Ratio& a, const Ratio& b) { return {a.over * b.over, a.under * b.under}; }
Ratio operator*(const Ratio& a, Expr factor) { return {a.over * std::move(factor), a.under}; }
Ratio operator+(const Ratio& a, const Ratio& b) { return {a.over * b.under + b.over * a.under, a.under * b.under}; }

// Rational minimax approximation, a few units in the last place; coefficients as in Eigen (ptanh_float),
// where |x| is cut at the point from which the result rounds to one.
Ratio tanh_ratio(Expr x) {
  Expr cut = Halide::clamp(x, -7.90531110763549805f, 7.90531110763549805f), square = cut * cut;
  Expr odd = cut * polynomial(square, {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                                       5.12229709037114e-08f, 1.48572235717979e-05f, 6.37261928875436e-04f,
                                       4.89352455891786e-03f});
  Expr even = polynomial(
      square, {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f, 4.89352518554385e-03f});
  return {odd, even};
}

// (1 + tanh(x / 2)) / 2
Ratio sigmoid_ratio(Expr x) {
  const Ratio half = tanh_ratio(x * 0.5f);
  return {half.under + half.over, half.under * 2.0f};
}

Expr tanh_of(Expr x) {
  if (x.type().is_float() && x.type().bits() == 64) return Halide::tanh(x);
  const Ratio ratio = tanh_ratio(x);
  return Halide::select(Halide::abs(x) < 0.0004f, x, ratio.over / ratio.under);
}

// Rational minimax approximation on [-4, 4]; coefficients as in Eigen and XLA (erf of f32).
Expr erf_of(Expr x) {
  Expr cut = Halide::clamp(x, -4.0f, 4.0f), square = cut * cut;
  Expr odd = cut * polynomial(square, {-2.72614225801306e-10f, 2.77068142495902e-08f, -2.10102402082508e-06f,
                                       -5.69250639462346e-05f, -7.34990630326855e-04f, -2.95459980854025e-03f,
                                       -1.60960333262415e-02f});
  Expr even = polynomial(square, {-1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                                  -7.37332916720468e-03f, -1.42647390514189e-02f});
  return odd / even;
}

Expr sigmoid_of(Expr x) {
  Expr one = Halide::Internal::make_one(x.type());
  return one / (one + Halide::exp(-x));
}

Expr softplus_of(Expr x) {
  Expr zero = Halide::Internal::make_zero(x.type()), one = Halide::Internal::make_one(x.type());
  return Halide::max(x, zero) + Halide::log(one + Halide::exp(-Halide::abs(x)));
}

Expr gelu_of(Expr x, bool approximate) {
  if (approximate) return x * 0.5f * (1.0f + tanh_of(0.7978845608028654f * (x + 0.044715f * x * x * x)));
  return x * 0.5f * (1.0f + erf_of(x * 0.70710678118654752f));
}

Expr pow_of(Expr x, Expr y) {
  if (auto number = Halide::Internal::as_const_float(y)) {
    if (*number == 2) return x * x;
    if (*number == 1) return x;
    if (*number == 0.5) return Halide::sqrt(x);
    if (*number == 3) return x * x * x;
    if (*number == -1) return 1.0f / x;
  }
  Expr size = Halide::exp(y * Halide::log(Halide::abs(x)));
  Expr whole = Halide::floor(y) == y, odd = Halide::floor(y * 0.5f) * 2.0f != y;
  Expr negative =
      Halide::select(whole, Halide::select(odd, -size, size), std::numeric_limits<float>::quiet_NaN());
  Expr infinity = std::numeric_limits<float>::infinity();
  Expr of_zero = Halide::select(y > 0.0f, 0.0f, infinity);
  return Halide::select(y == 0.0f, 1.0f, x == 0.0f, of_zero, x < 0.0f, negative, size);
}

}  // namespace intarsia::halide
