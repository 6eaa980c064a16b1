// Elementwise operators as Halide expressions, one table row each.
#include <algorithm>
#include <array>
#include <bit>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/convert.h"
#include "backends/halide/build/dsp_products.h"
#include "backends/halide/build/math.h"

namespace intarsia::halide {
namespace {

struct Operands {
  const Isa& isa;
  const Node& node;
  const Exprs& in;
  Halide::Type out;
  Expr constant(double number) const { return Halide::Internal::make_const(out, number); }
  Expr alpha() const { return constant(attributes_of<AlphaAttributes>(node).alpha); }
};

using Halide::select;

/// Divides as ONNX does: integer division truncates, while Halide's rounds so that the remainder is not
/// negative.
Expr divide(const Operands& c) {
  const Expr &a = c.in[0], &b = c.in[1];
  if (a.type().is_float() || a.type().is_uint()) return a / b;
  Expr quotient = Halide::abs(a) / Halide::abs(b);
  Expr signed_quotient = Halide::cast(c.out, quotient);
  return select((a < 0) != (b < 0), -signed_quotient, signed_quotient);
}

Expr modulo(const Operands& c) {
  const Expr &a = c.in[0], &b = c.in[1];
  if (c.out.is_uint()) return a % b;
  if (attributes_of<ModAttributes>(c.node).fmod) {
    Expr size = Halide::cast(c.out, Halide::abs(a) % Halide::abs(b));
    return select(a < 0, -size, size);
  }
  Expr rest = a % b;
  return select(b < 0 && rest != 0, rest + b, rest);
}

Expr shift(const Operands& c) {
  return attributes_of<BitShiftAttributes>(c.node).right ? c.in[0] >> c.in[1] : c.in[0] << c.in[1];
}

Expr sign(const Operands& c) {
  const Expr& x = c.in[0];
  Expr zero = c.constant(0);
  if (c.out.is_uint()) return select(x > zero, c.constant(1), zero);
  return select(x > zero, c.constant(1), x < zero, c.constant(-1), x);
}

/// Rounds to even and saturates as an instruction of microcontrollers does, which makes 0 of NaN.
Expr quantize_on_words(const Operands& c) {
  const Expr sum = add_saturating(round_to_word(c.in[0] / c.in[1]), Halide::cast<int32_t>(c.in[2]));
  return Halide::cast(c.out, saturate_word(sum, c.out));
}

/// Rounds to even by a sum whose last bit is a unit, where vectors have no instruction that rounds, none that
/// divides, and few that compare. What saturates is cut off first, as a quotient is of finite numbers.
Expr quantize_by_sums(const Operands& c) {
  constexpr float shifter = 12582912;
  const Expr &x = c.in[0], &scale = c.in[1];
  const auto number_at = [&](const Expr& limit) {
    return scale * (Halide::cast<float>(limit) - Halide::cast<float>(c.in[2]));
  };
  const Expr first = number_at(c.out.min()), last = number_at(c.out.max());
  const Expr inside = Halide::clamp(x, Halide::min(first, last), Halide::max(first, last));
  const Expr steps = select(has_bits_of_nan(x), 0.0F, quotient(inside, scale));
  return Halide::cast(c.out, Halide::reinterpret<int32_t>(steps + shifter) - std::bit_cast<int32_t>(shifter) +
                                 Halide::cast<int32_t>(c.in[2]));
}

/// Rounds to even and saturates; NaN becomes the zero.
Expr quantize(const Operands& c) {
  const Halide::Type wide = c.in[0].type();
  if (c.isa.is_in_order() && wide == Halide::Float(32))
    return c.isa.multiplies_words() ? quantize_on_words(c) : quantize_by_sums(c);
  const Expr steps = c.in[0] / c.in[1], zero = Halide::cast(wide, c.in[2]);
  const auto bound = [&](const Expr& limit) { return Halide::cast(wide, limit) - zero; };
  const Expr near = Halide::clamp(Halide::round(steps), bound(c.out.min()), bound(c.out.max()));
  const Expr whole =
      Halide::cast<int32_t>(select(Halide::is_nan(steps), Halide::Internal::make_zero(wide), near));
  return Halide::cast(c.out, whole + Halide::cast<int32_t>(c.in[2]));
}

Expr dequantize(const Operands& c) {
  return Halide::cast(c.out, Halide::cast<int32_t>(c.in[0]) - Halide::cast<int32_t>(c.in[2])) * c.in[1];
}

Expr is_inf(const Operands& c) {
  const auto [positive, negative] = attributes_of<IsInfAttributes>(c.node);
  Expr any = Halide::Internal::make_bool(false);
  if (positive) any = any || (Halide::is_inf(c.in[0]) && c.in[0] > 0);
  if (negative) any = any || (Halide::is_inf(c.in[0]) && c.in[0] < 0);
  return any;
}

Expr maximum(const Operands& c) { return c.out.is_bool() ? c.in[0] || c.in[1] : larger(c.in[0], c.in[1]); }

Expr minimum(const Operands& c) { return c.out.is_bool() ? c.in[0] && c.in[1] : smaller(c.in[0], c.in[1]); }

Expr shrink(const Operands& c) {
  const ShrinkAttributes attributes = attributes_of<ShrinkAttributes>(c.node);
  Expr lambda = c.constant(attributes.lambd), bias = c.constant(attributes.bias), x = c.in[0];
  return select(x<-lambda, x + bias, x> lambda, x - bias, c.constant(0));
}

Expr hard_sigmoid_of(const Operands& c, float alpha, float beta) {
  Expr line = c.constant(alpha) * c.in[0] + c.constant(beta);
  return smaller(larger(line, c.constant(0)), c.constant(1));
}

Expr hard_sigmoid(const Operands& c) {
  const auto [alpha, beta] = attributes_of<HardSigmoidAttributes>(c.node);
  return hard_sigmoid_of(c, alpha, beta);
}

Expr selu(const Operands& c) {
  const SeluAttributes attributes = attributes_of<SeluAttributes>(c.node);
  const Expr gamma = c.constant(attributes.gamma);
  const Expr elu = elu_of(c.in[0], c.constant(attributes.alpha), c.constant(1));
  return strictly({gamma, elu}, [](const Exprs& in) { return in[0] * in[1]; });
}

struct Row {
  CoreOp op;
  Expr (*build)(const Operands&);
};

using C = const Operands&;

/// Compares floats without <=: Halide turns a <= b into !(b < a), which is true for NaN.
Halide::Expr is_less_or_equal(const Halide::Expr& a, const Halide::Expr& b) {
  return a.type().is_float() ? a < b || a == b : a <= b;
}

/// Operators whose expression is made strict as a whole.
constexpr auto strict_rows = std::to_array<Row>({
    {CoreOp::add, [](C c) { return c.in[0] + c.in[1]; }},
    {CoreOp::sub, [](C c) { return c.in[0] - c.in[1]; }},
    {CoreOp::mul, [](C c) { return c.in[0] * c.in[1]; }},
    {CoreOp::div, divide},
    {CoreOp::mod, modulo},
    {CoreOp::max, maximum},
    {CoreOp::min, minimum},
    {CoreOp::logical_and, [](C c) { return c.in[0] && c.in[1]; }},
    {CoreOp::logical_or, [](C c) { return c.in[0] || c.in[1]; }},
    {CoreOp::logical_xor, [](C c) { return c.in[0] != c.in[1]; }},
    {CoreOp::logical_not, [](C c) { return !c.in[0]; }},
    {CoreOp::bitwise_and, [](C c) { return c.in[0] & c.in[1]; }},
    {CoreOp::bitwise_or, [](C c) { return c.in[0] | c.in[1]; }},
    {CoreOp::bitwise_xor, [](C c) { return c.in[0] ^ c.in[1]; }},
    {CoreOp::bitwise_not, [](C c) { return ~c.in[0]; }},
    {CoreOp::bit_shift, shift},
    {CoreOp::equal, [](C c) { return c.in[0] == c.in[1]; }},
    {CoreOp::less, [](C c) { return c.in[0] < c.in[1]; }},
    {CoreOp::less_or_equal, [](C c) { return is_less_or_equal(c.in[0], c.in[1]); }},
    {CoreOp::greater, [](C c) { return c.in[0] > c.in[1]; }},
    {CoreOp::greater_or_equal, [](C c) { return is_less_or_equal(c.in[1], c.in[0]); }},
    {CoreOp::where, [](C c) { return select(c.in[0], c.in[1], c.in[2]); }},
    {CoreOp::cast, [](C c) { return convert(c.out, c.in[0]); }},
    {CoreOp::bit_cast, [](C c) { return Halide::reinterpret(c.out, c.in[0]); }},
    {CoreOp::quantize, quantize},
    {CoreOp::dequantize, dequantize},
    {CoreOp::abs, [](C c) { return c.out.is_uint() ? c.in[0] : Halide::cast(c.out, Halide::abs(c.in[0])); }},
    {CoreOp::neg, [](C c) { return -c.in[0]; }},
    {CoreOp::sign, sign},
    {CoreOp::relu, [](C c) { return larger(c.in[0], c.constant(0)); }},
    {CoreOp::sqrt, [](C c) { return Halide::sqrt(c.in[0]); }},
    {CoreOp::reciprocal, [](C c) { return c.constant(1) / c.in[0]; }},
    {CoreOp::floor, [](C c) { return Halide::floor(c.in[0]); }},
    {CoreOp::ceil, [](C c) { return Halide::ceil(c.in[0]); }},
    {CoreOp::round, [](C c) { return Halide::round(c.in[0]); }},
    {CoreOp::is_nan, [](C c) { return Halide::is_nan(c.in[0]); }},
    {CoreOp::is_inf, is_inf},
    {CoreOp::sin, [](C c) { return Halide::sin(c.in[0]); }},
    {CoreOp::cos, [](C c) { return Halide::cos(c.in[0]); }},
    {CoreOp::tan, [](C c) { return Halide::tan(c.in[0]); }},
    {CoreOp::asin, [](C c) { return Halide::asin(c.in[0]); }},
    {CoreOp::acos, [](C c) { return Halide::acos(c.in[0]); }},
    {CoreOp::atan, [](C c) { return Halide::atan(c.in[0]); }},
    {CoreOp::sinh, [](C c) { return Halide::sinh(c.in[0]); }},
    {CoreOp::cosh, [](C c) { return Halide::cosh(c.in[0]); }},
    {CoreOp::asinh, [](C c) { return Halide::asinh(c.in[0]); }},
    {CoreOp::acosh, [](C c) { return Halide::acosh(c.in[0]); }},
    {CoreOp::atanh, [](C c) { return Halide::atanh(c.in[0]); }},
    {CoreOp::softsign, [](C c) { return c.in[0] / (c.constant(1) + Halide::abs(c.in[0])); }},
    {CoreOp::leaky_relu, [](C c) { return select(c.in[0] < 0, c.alpha() * c.in[0], c.in[0]); }},
    {CoreOp::thresholded_relu, [](C c) { return select(c.in[0] > c.alpha(), c.in[0], c.constant(0)); }},
    {CoreOp::hard_sigmoid, hard_sigmoid},
    {CoreOp::hard_swish, [](C c) { return c.in[0] * hard_sigmoid_of(c, 1.0f / 6, 0.5f); }},
    {CoreOp::shrink, shrink},
});

/// Operators from math.h, which decides what is strict.
constexpr auto functions = std::to_array<Row>({
    {CoreOp::exp,
     [](C c) {
       return attributes_of<ExpAttributes>(c.node).nonpositive ? exp_of_nonpositive(c.in[0])
                                                               : exp_of(c.in[0]);
     }},
    {CoreOp::log, [](C c) { return log_of(c.in[0]); }},
    {CoreOp::tanh, [](C c) { return tanh_of(c.in[0]); }},
    {CoreOp::erf, [](C c) { return erf_of(c.in[0]); }},
    {CoreOp::sigmoid, [](C c) { return sigmoid_of(c.in[0]); }},
    {CoreOp::softplus, [](C c) { return softplus_of(c.in[0]); }},
    {CoreOp::mish, [](C c) { return mish_of(c.in[0]); }},
    {CoreOp::gelu, [](C c) { return gelu_of(c.in[0], attributes_of<GeluAttributes>(c.node).tanh); }},
    {CoreOp::elu, [](C c) { return elu_of(c.in[0], c.alpha(), c.constant(1)); }},
    {CoreOp::celu, [](C c) { return elu_of(c.in[0], c.alpha(), c.alpha()); }},
    {CoreOp::selu, selu},
    {CoreOp::pow, [](C c) { return pow_of(c.in[0], c.in[1]); }},
});

}  // namespace

Expr build_elementwise(const Isa& isa, const Node& node, const Exprs& inputs, Halide::Type out) {
  const CoreOp op = op_of(node);
  const auto function = std::ranges::find(functions, op, &Row::op);
  if (function != functions.end()) return function->build({isa, node, inputs, out});
  const auto row = std::ranges::find(strict_rows, op, &Row::op);
  INTARSIA_CHECK(row != strict_rows.end());
  // LLVM would otherwise assume that there is no NaN and no infinity, of which attention masks consist.
  return strictly(inputs, [&](const Exprs& in) { return row->build({isa, node, in, out}); });
}

}  // namespace intarsia::halide
