#include "backends/halide/build/math.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>

namespace intarsia::halide {
namespace {

using Halide::Expr;
using Halide::select;
using Exprs = std::vector<Expr>;

constexpr float infinity = std::numeric_limits<float>::infinity(),
                nan = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t infinity_bits = 0x7f800000, sign_bit = 0x80000000;

bool is_f64(const Expr& x) { return x.type().bits() == 64; }

bool is_number(const Expr& x) {
  const std::optional<double> number = Halide::Internal::as_const_float(x);
  return number && !std::isnan(*number);
}

Expr nan_of(Halide::Type type) {
  return Halide::Internal::make_const(type, std::numeric_limits<double>::quiet_NaN());
}

/// Evaluates a polynomial by Horner's rule, highest power first.
Expr polynomial(const Expr& x, std::initializer_list<float> coefficients) {
  Expr sum = 0.0f;
  for (float coefficient : coefficients) sum = sum * x + coefficient;
  return sum;
}

/// Clamps x; NaN becomes `low`: comparing and selecting an operand is one instruction, which returns the
/// second operand for NaN.
Expr cut_off(const Expr& x, float low, float high) {
  return strictly({x}, [=](const Exprs& in) {
    const Expr above = select(in[0] > low, in[0], low);
    return select(above < high, above, high);
  });
}

/// Clamps x; NaN passes.
Expr cut_off_but_nan(const Expr& x, float low, float high) {
  return strictly({x}, [=](const Exprs& in) {
    const Expr above = select(in[0] < low, low, in[0]);
    return select(above > high, high, above);
  });
}

Expr word(uint32_t bits) { return Halide::Internal::make_const(Halide::UInt(32), bits); }

Expr bits_of(const Expr& x) { return Halide::reinterpret<uint32_t>(x); }
Expr size_bits(const Expr& x) { return bits_of(x) & word(sign_bit - 1); }

/// Returns f, or x where x is NaN.
Expr unless_nan(const Expr& x, const Expr& f) { return select(has_bits_of_nan(x), x, f); }

Expr multiply(const Expr& a, const Expr& b) {
  return strictly({a, b}, [](const Exprs& in) { return in[0] * in[1]; });
}

Expr divide(const Expr& a, const Expr& b) {
  return strictly({a, b}, [](const Exprs& in) { return in[0] / in[1]; });
}

/// The exponential of x = k ln2 + r with |r| <= ln2 / 2: exp(r), and bits of which the low 9 are k + bias.
struct SplitExp {
  Expr power, bits;
};

/// Splits exp of a finite x. The polynomial is minimax for the relative error, 3e-9.
SplitExp split_exp(const Expr& x, float bias) {
  const float shifter = 12582912 + bias;  // adding it rounds to whole numbers
  const Expr shifted = strictly({x * 1.44269504f}, [=](const Exprs& in) { return in[0] + shifter; });
  const Expr k = strictly({shifted}, [=](const Exprs& in) { return in[0] - shifter; });
  const Expr r = x - k * 0.693147182f;
  return {
      polynomial(r, {0.00138145406f, 0.00836874545f, 0.041668389f, 0.166665211f, 0.49999994f, 1.0f, 1.0f}),
      bits_of(shifted)};
}

/// Computes exp of a finite x, which may be infinite, zero or denormal.
Expr exp_of_finite(const Expr& x) {
  // 2^k has two factors, as it may be denormal or more than the largest number where the result is not.
  const auto [power, bits] = split_exp(x, 254);
  const Expr half = bits >> 1;
  const Expr first = Halide::reinterpret<float>(half << 23),
             second = Halide::reinterpret<float>((bits - half) << 23);
  return multiply(multiply(power, first), second);
}

/// Clamps x to the range beyond which exp is zero or infinite.
Expr cut_for_exp(const Expr& x) { return cut_off(x, -104.0f, 89.0f); }

/// Computes log(1 + x) for 0 <= x <= 1. The polynomial is minimax for the relative error, 3e-8.
Expr log1p_of_unit(const Expr& x) {
  return x * polynomial(x, {0.00523269502f, -0.0295052435f, 0.0782259628f, -0.136632472f, 0.191060081f,
                            -0.24842982f, 0.333190978f, -0.499994934f, 0.99999994f});
}

/// Computes erf of a number in [-4.1, 4.1] by a rational minimax approximation on [-4, 4]; coefficients as in
/// Eigen and XLA (erf of f32). At 4.1 it has passed 1 by more than its error, so that the ends are exact:
/// Gelu multiplies 1 + erf by large numbers.
Expr erf_of_cut(const Expr& cut) {
  Expr square = cut * cut;
  Expr odd = cut * polynomial(square, {-2.72614225801306e-10f, 2.77068142495902e-08f, -2.10102402082508e-06f,
                                       -5.69250639462346e-05f, -7.34990630326855e-04f, -2.95459980854025e-03f,
                                       -1.60960333262415e-02f});
  Expr even = polynomial(square, {-1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                                  -7.37332916720468e-03f, -1.42647390514189e-02f});
  return Halide::clamp(odd / even, -1.0f, 1.0f);
}

/// Computes tanh by a rational minimax approximation, to a few units in the last place; coefficients as in
/// Eigen (ptanh_float).
Ratio tanh_of_cut(const Expr& cut) {
  Expr square = cut * cut;
  Expr odd = cut * polynomial(square, {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                                       5.12229709037114e-08f, 1.48572235717979e-05f, 6.37261928875436e-04f,
                                       4.89352455891786e-03f});
  Expr even = polynomial(
      square, {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f, 4.89352518554385e-03f});
  return {odd, even};
}

}  // namespace

Expr has_bits_of_nan(const Expr& x) { return size_bits(x) > word(infinity_bits); }

Expr strictly(const Exprs& inputs, const std::function<Expr(const Exprs&)>& f) {
  Exprs names;
  std::map<std::string, Expr> values;
  for (const Expr& input : inputs) {
    // A constant is the same strict or not, and f may inspect it.
    if (Halide::Internal::is_const(input)) {
      names.push_back(input);
      continue;
    }
    const std::string name = Halide::Internal::unique_name("operand");
    names.push_back(Halide::Internal::Variable::make(input.type(), name));
    values[name] = input;
  }
  return Halide::Internal::substitute(values, Halide::strict_float(f(names)));
}

// Puts a constant number second in the comparison, where it costs nothing. Otherwise NaN is a constant, too:
// with b instead, LLVM merges two conditions into one, and a reduction waits for both.
Expr larger(Expr a, Expr b) {
  if (!a.type().is_float()) return Halide::max(a, b);
  if (is_number(a) && !is_number(b)) return larger(b, a);
  const Expr of_numbers = select(a < b, b, a);
  return is_number(b) ? of_numbers : select(Halide::is_nan(b), nan_of(b.type()), of_numbers);
}

Expr smaller(Expr a, Expr b) {
  if (!a.type().is_float()) return Halide::min(a, b);
  if (is_number(a) && !is_number(b)) return smaller(b, a);
  const Expr of_numbers = select(a > b, b, a);
  return is_number(b) ? of_numbers : select(Halide::is_nan(b), nan_of(b.type()), of_numbers);
}

Ratio operator*(const Ratio& a, const Ratio& b) { return {a.over * b.over, a.under * b.under}; }
Ratio operator*(const Ratio& a, Expr factor) { return {a.over * std::move(factor), a.under}; }
Ratio operator+(const Ratio& a, const Ratio& b) {
  return {a.over * b.under + b.over * a.under, a.under * b.under};
}

// Clamps |x| where the result is about one. NaN goes through the polynomials: no code here compares the
// result.
Ratio tanh_ratio(Expr x) {
  return tanh_of_cut(cut_off_but_nan(x, -7.90531110763549805f, 7.90531110763549805f));
}

// sigmoid(x) = (1 + tanh(x / 2)) / 2
Ratio sigmoid_ratio(Expr x) {
  const Ratio half = tanh_ratio(x * 0.5f);
  return {half.under + half.over, half.under * 2.0f};
}

Expr exp_of(Expr x) {
  if (is_f64(x)) return Halide::exp(x);
  return unless_nan(x, exp_of_finite(cut_for_exp(x)));
}

// NaN goes through: comparisons with it are false.
Expr exp_of_nonpositive(Expr x) {
  if (is_f64(x)) return Halide::exp(x);
  constexpr float least = -87.3f;  // its exponential is normal: processors take 100 times as long for others
  const Expr cut = strictly({x}, [](const Exprs& in) { return select(in[0] < least, least, in[0]); });
  const auto [power, bits] = split_exp(cut, 127);
  return strictly({x, multiply(power, Halide::reinterpret<float>(bits << 23))},
                  [](const Exprs& in) { return select(in[0] < least, 0.0f, in[1]); });
}

// x = 2^k m with 2/3 <= m < 4/3; the polynomial is minimax for the relative error, 3e-8. The parts of m are
// in range for any bits, including NaN and infinity.
Expr log_of(Expr x) {
  if (is_f64(x)) return Halide::log(x);
  const Expr x_bits = bits_of(x);
  const Expr is_denormal = x_bits < word(0x00800000);
  const Expr bits = Halide::reinterpret<int32_t>(select(is_denormal, multiply(x, 8388608.0f), x));
  const Expr k = (bits - 0x3f2aaaab) >> 23;
  const Expr f = Halide::reinterpret<float>(bits - (k << 23)) - 1.0f;
  const Expr tail = polynomial(f, {0.140263632f, -0.153885424f, 0.139958054f, -0.164159611f, 0.200111687f,
                                   -0.250078201f, 0.333331972f, -0.499999374f});
  const Expr exponent = Halide::cast<float>(k) - select(is_denormal, 23.0f, 0.0f);
  const Expr log = exponent * 0.693147182f + (f + f * f * tail);
  // Bits above infinity's are those of NaN and of negative numbers.
  const Expr is_positive_and_finite = x_bits - word(1) < word(infinity_bits - 1),
             is_zero = size_bits(x) == word(0);
  return select(is_positive_and_finite, log, is_zero, -infinity, x_bits > word(infinity_bits), nan, infinity);
}

// Returns x itself near zero, also for its sign, and for NaN, whose bits are above infinity's.
Expr tanh_of(Expr x) {
  if (is_f64(x)) return Halide::tanh(x);
  constexpr uint32_t min_bits = 0x39d1b717;  // bits of 0.0004
  // The ratio has passed 1 at 9.8.
  const Ratio ratio = tanh_of_cut(cut_off(x, -9.8f, 9.8f));
  return select(size_bits(x) - word(min_bits) <= word(infinity_bits - min_bits),
                Halide::clamp(ratio.over / ratio.under, -1.0f, 1.0f), x);
}

Expr erf_of(Expr x) { return unless_nan(x, erf_of_cut(cut_off(x, -4.1f, 4.1f))); }

Expr sigmoid_of(Expr x) {
  const Expr one = Halide::Internal::make_one(x.type()), zero = Halide::Internal::make_zero(x.type());
  const Expr minus = strictly({x}, [=](const Exprs& in) { return zero - in[0]; });
  const Expr size = is_f64(x) ? Halide::exp(minus) : exp_of_finite(cut_for_exp(minus));
  const Expr sigmoid = strictly({size}, [=](const Exprs& in) { return one / (one + in[0]); });
  return is_f64(x) ? sigmoid : unless_nan(x, sigmoid);
}

Expr softplus_of(Expr x) {
  const Expr zero = Halide::Internal::make_zero(x.type()), minus_size = -Halide::abs(x);
  const Expr log = is_f64(x) ? Halide::log(Halide::Internal::make_one(x.type()) + Halide::exp(minus_size))
                             : log1p_of_unit(exp_of_finite(cut_off(minus_size, -104.0f, 0.0f)));
  return strictly({x, log}, [=](const Exprs& in) { return select(in[0] < zero, zero, in[0]) + in[1]; });
}

// tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2), which is one long before 20.
Expr mish_of(Expr x) {
  const Expr e = exp_of_finite(cut_off(x, -104.0f, 20.0f)), n = e * (e + 2.0f);
  return multiply(x, n / (n + 2.0f));
}

// (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u))
Expr gelu_of(Expr x, bool approximate) {
  if (!approximate)
    return multiply(multiply(x, 0.5f),
                    1.0f + erf_of_cut(cut_off(multiply(x, 0.70710678118654752f), -4.1f, 4.1f)));
  const Expr twice =
      strictly({x}, [](const Exprs& in) { return in[0] * (-1.59576912f - 0.0713548163f * (in[0] * in[0])); });
  const Expr size = exp_of_finite(cut_for_exp(twice));
  return strictly({x, size}, [](const Exprs& in) { return in[0] / (1.0f + in[1]); });
}

Expr elu_of(Expr x, Expr alpha, Expr steepness) {
  const Expr zero = Halide::Internal::make_zero(x.type()), one = Halide::Internal::make_one(x.type());
  const Expr scaled = strictly({x, steepness}, [&](const Exprs& in) { return in[0] / in[1]; });
  const Expr size = is_f64(x) ? Halide::exp(scaled) : exp_of_finite(cut_off(scaled, -104.0f, 89.0f));
  return strictly({x, size, alpha},
                  [&](const Exprs& in) { return select(in[0] < zero, in[2] * (in[1] - one), in[0]); });
}

Expr pow_of(Expr x, Expr y) {
  if (auto number = Halide::Internal::as_const_float(y)) {
    if (*number == 2) return multiply(x, x);
    if (*number == 1) return x;
    if (*number == 0.5) return strictly({x}, [](const Exprs& in) { return Halide::sqrt(in[0]); });
    if (*number == 3) return multiply(multiply(x, x), x);
    if (*number == -1) return divide(1.0f, x);
  }
  const Expr power = exp_of(multiply(y, log_of(Halide::abs(x))));
  return strictly({x, y, power}, [](const Exprs& in) {
    const Expr &x = in[0], &y = in[1];
    // Skips the logarithm where |x| is 1: 1 to any power is 1, even infinity and NaN.
    const Expr size = select(Halide::abs(x) == 1.0f, 1.0f, in[2]);
    const Expr whole = Halide::floor(y) == y, odd = Halide::floor(y * 0.5f) * 2.0f != y;
    const Expr negative = select(whole, select(odd, -size, size), x == -infinity, size, nan);
    const Expr zero = select(whole && odd, x, 0.0f),
               of_zero = select(y > 0.0f, zero, y < 0.0f, 1.0f / zero, y);
    return select(y == 0.0f, 1.0f, x == 0.0f, of_zero, x < 0.0f, negative, size);
  });
}

}  // namespace intarsia::halide
