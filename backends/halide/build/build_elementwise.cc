// Elementwise operators as Halide expressions: a row each.
#include <algorithm>
#include <array>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/math.h"

namespace intarsia::halide {
namespace {

struct Operands {
  const Attributes& attributes;
  const Exprs& in;
  Halide::Type out;
  Expr constant(double number) const { return Halide::Internal::make_const(out, number); }
  Expr attribute(const char* name, double otherwise) const {
    return constant(attributes.get_float(name, static_cast<float>(otherwise)));
  }
};

using Halide::select;

/// What an ONNX cast does: float to integer truncates, anything to bool asks whether it is not zero.
Expr cast_to(Halide::Type type, const Expr& x) {
  if (type.is_bool()) return x.type().is_bool() ? x : x != Halide::Internal::make_zero(x.type());
  return Halide::cast(type, x);
}

/// Integer division of ONNX truncates; Halide's rounds so that the remainder is not negative.
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
  if (c.attributes.get_int("fmod", 0)) {
    Expr size = Halide::cast(c.out, Halide::abs(a) % Halide::abs(b));
    return select(a < 0, -size, size);
  }
  Expr rest = a % b;
  return select(b < 0 && rest != 0, rest + b, rest);
}

Expr shift(const Operands& c) {
  return c.attributes.get_string("direction", "LEFT") == "LEFT" ? c.in[0] << c.in[1] : c.in[0] >> c.in[1];
}

Expr sign(const Operands& c) {
  const Expr& x = c.in[0];
  Expr zero = c.constant(0);
  if (c.out.is_uint()) return select(x > zero, c.constant(1), zero);
  return select(x > zero, c.constant(1), x < zero, c.constant(-1), x);
}

Expr is_inf(const Operands& c) {
  Expr any = Halide::Internal::make_bool(false);
  if (c.attributes.get_int("detect_positive", 1)) any = any || (Halide::is_inf(c.in[0]) && c.in[0] > 0);
  if (c.attributes.get_int("detect_negative", 1)) any = any || (Halide::is_inf(c.in[0]) && c.in[0] < 0);
  return any;
}

Expr maximum(const Operands& c) { return c.out.is_bool() ? c.in[0] || c.in[1] : larger(c.in[0], c.in[1]); }

Expr minimum(const Operands& c) { return c.out.is_bool() ? c.in[0] && c.in[1] : smaller(c.in[0], c.in[1]); }

Expr shrink(const Operands& c) {
  Expr lambda = c.attribute("lambd", 0.5), bias = c.attribute("bias", 0), x = c.in[0];
  return select(x<-lambda, x + bias, x> lambda, x - bias, c.constant(0));
}

Expr hard_sigmoid(const Operands& c, double alpha, double beta) {
  Expr line = c.attribute("alpha", alpha) * c.in[0] + c.attribute("beta", beta);
  return smaller(larger(line, c.constant(0)), c.constant(1));
}

Expr selu(const Operands& c) {
  const Expr gamma = c.attribute("gamma", 1.05070102214813232421875);
  const Expr elu = elu_of(c.in[0], c.attribute("alpha", 1.67326319217681884765625), c.constant(1));
  return strictly({gamma, elu}, [](const Exprs& in) { return in[0] * in[1]; });
}

struct Row {
  std::string_view op;
  Expr (*build)(const Operands&);
};

using C = const Operands&;
/// To be made strict as a whole.
constexpr auto strict_rows = std::to_array<Row>({
    {"Add", [](C c) { return c.in[0] + c.in[1]; }},
    {"Sub", [](C c) { return c.in[0] - c.in[1]; }},
    {"Mul", [](C c) { return c.in[0] * c.in[1]; }},
    {"Div", divide},
    {"Mod", modulo},
    {"Max", maximum},
    {"Min", minimum},
    {"And", [](C c) { return c.in[0] && c.in[1]; }},
    {"Or", [](C c) { return c.in[0] || c.in[1]; }},
    {"Xor", [](C c) { return c.in[0] != c.in[1]; }},
    {"Not", [](C c) { return !c.in[0]; }},
    {"BitwiseAnd", [](C c) { return c.in[0] & c.in[1]; }},
    {"BitwiseOr", [](C c) { return c.in[0] | c.in[1]; }},
    {"BitwiseXor", [](C c) { return c.in[0] ^ c.in[1]; }},
    {"BitwiseNot", [](C c) { return ~c.in[0]; }},
    {"BitShift", shift},
    {"Equal", [](C c) { return c.in[0] == c.in[1]; }},
    {"Less", [](C c) { return c.in[0] < c.in[1]; }},
    {"LessOrEqual", [](C c) { return c.in[0] <= c.in[1]; }},
    {"Greater", [](C c) { return c.in[0] > c.in[1]; }},
    {"GreaterOrEqual", [](C c) { return c.in[0] >= c.in[1]; }},
    {"Where", [](C c) { return select(c.in[0], c.in[1], c.in[2]); }},
    {"Cast", [](C c) { return cast_to(c.out, c.in[0]); }},
    {"Abs", [](C c) { return c.out.is_uint() ? c.in[0] : Halide::cast(c.out, Halide::abs(c.in[0])); }},
    {"Neg", [](C c) { return -c.in[0]; }},
    {"Sign", sign},
    {"Relu", [](C c) { return larger(c.in[0], c.constant(0)); }},
    {"Sqrt", [](C c) { return Halide::sqrt(c.in[0]); }},
    {"Reciprocal", [](C c) { return c.constant(1) / c.in[0]; }},
    {"Floor", [](C c) { return Halide::floor(c.in[0]); }},
    {"Ceil", [](C c) { return Halide::ceil(c.in[0]); }},
    {"Round", [](C c) { return Halide::round(c.in[0]); }},
    {"IsNaN", [](C c) { return Halide::is_nan(c.in[0]); }},
    {"IsInf", is_inf},
    {"Sin", [](C c) { return Halide::sin(c.in[0]); }},
    {"Cos", [](C c) { return Halide::cos(c.in[0]); }},
    {"Tan", [](C c) { return Halide::tan(c.in[0]); }},
    {"Asin", [](C c) { return Halide::asin(c.in[0]); }},
    {"Acos", [](C c) { return Halide::acos(c.in[0]); }},
    {"Atan", [](C c) { return Halide::atan(c.in[0]); }},
    {"Sinh", [](C c) { return Halide::sinh(c.in[0]); }},
    {"Cosh", [](C c) { return Halide::cosh(c.in[0]); }},
    {"Asinh", [](C c) { return Halide::asinh(c.in[0]); }},
    {"Acosh", [](C c) { return Halide::acosh(c.in[0]); }},
    {"Atanh", [](C c) { return Halide::atanh(c.in[0]); }},
    {"Softsign", [](C c) { return c.in[0] / (c.constant(1) + Halide::abs(c.in[0])); }},
    {"LeakyRelu", [](C c) { return select(c.in[0] < 0, c.attribute("alpha", 0.01) * c.in[0], c.in[0]); }},
    {"ThresholdedRelu",
     [](C c) { return select(c.in[0] > c.attribute("alpha", 1), c.in[0], c.constant(0)); }},
    {"HardSigmoid", [](C c) { return hard_sigmoid(c, 0.2, 0.5); }},
    {"HardSwish", [](C c) { return c.in[0] * hard_sigmoid(c, 1.0 / 6, 0.5); }},
    {"Shrink", shrink},
});

/// Of math.h, which says itself what is strict.
constexpr auto functions = std::to_array<Row>({
    {"Exp",
     [](C c) {
       return c.attributes.get_int("nonpositive", 0) ? exp_of_nonpositive(c.in[0]) : exp_of(c.in[0]);
     }},
    {"Log", [](C c) { return log_of(c.in[0]); }},
    {"Tanh", [](C c) { return tanh_of(c.in[0]); }},
    {"Erf", [](C c) { return erf_of(c.in[0]); }},
    {"Sigmoid", [](C c) { return sigmoid_of(c.in[0]); }},
    {"Softplus", [](C c) { return softplus_of(c.in[0]); }},
    {"Mish", [](C c) { return mish_of(c.in[0]); }},
    {"Gelu", [](C c) { return gelu_of(c.in[0], c.attributes.get_string("approximate", "none") == "tanh"); }},
    {"Elu", [](C c) { return elu_of(c.in[0], c.attribute("alpha", 1), c.constant(1)); }},
    {"Celu", [](C c) { return elu_of(c.in[0], c.attribute("alpha", 1), c.attribute("alpha", 1)); }},
    {"Selu", selu},
    {"Pow", [](C c) { return pow_of(c.in[0], c.in[1]); }},
});

}  // namespace

Expr build_elementwise(const Node& node, const Exprs& inputs, Halide::Type out) {
  const auto function = std::ranges::find(functions, node.op, &Row::op);
  if (function != functions.end()) return function->build({node.attributes, inputs, out});
  const auto row = std::ranges::find(strict_rows, node.op, &Row::op);
  INTARSIA_CHECK(row != strict_rows.end());
  // LLVM would else assume that there is no NaN and no infinity, which masks of attention are made of.
  return strictly(inputs, [&](const Exprs& in) { return row->build({node.attributes, in, out}); });
}

}  // namespace intarsia::halide
