#include <cmath>
#include <limits>
#include <numeric>

#include "tensorflow/dtypes.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Translates to our operator that does the same with the same inputs.
template <const char* op>
Status same(Translation& t) {
  t.give(0, t.make(op, t.inputs()));
  return {};
}

constexpr char abs_[] = "Abs", acos_[] = "Acos", acosh_[] = "Acosh", asin_[] = "Asin", asinh_[] = "Asinh",
               atan_[] = "Atan", atanh_[] = "Atanh", ceil_[] = "Ceil", cos_[] = "Cos", cosh_[] = "Cosh",
               erf_[] = "Erf", exp_[] = "Exp", floor_[] = "Floor", log_[] = "Log", neg_[] = "Neg",
               relu_[] = "Relu", round_[] = "Round", sigmoid_[] = "Sigmoid", sign_[] = "Sign", sin_[] = "Sin",
               sinh_[] = "Sinh", softsign_[] = "Softsign", sqrt_[] = "Sqrt", tan_[] = "Tan", tanh_[] = "Tanh",
               reciprocal_[] = "Reciprocal", add_[] = "Add", sub_[] = "Sub", mul_[] = "Mul", max_[] = "Max",
               min_[] = "Min", pow_[] = "Pow", sum_[] = "Sum", equal_[] = "Equal", less_[] = "Less",
               less_equal_[] = "LessOrEqual", greater_[] = "Greater", greater_equal_[] = "GreaterOrEqual",
               and_[] = "And", or_[] = "Or", not_[] = "Not", is_nan_[] = "IsNaN", is_inf_[] = "IsInf",
               bit_and_[] = "BitwiseAnd", bit_or_[] = "BitwiseOr", bit_xor_[] = "BitwiseXor",
               bit_not_[] = "BitwiseNot", where_[] = "Where";

Status identity(Translation& t) {
  t.give(0, t.input(0));
  return {};
}

Status alias_all(Translation& t) {
  for (size_t i = 0; i < t.input_count(); ++i) t.give(i, t.input(i));
  return {};
}

/// Checks the declared shape at compile time, if the input's shape is known, and passes the input on.
Status ensure_shape(Translation& t) {
  const SymbolicShape shape = TRY(t.sizes(0));
  const auto wanted = tensorflow::get_shape(t.attributes(), "shape");
  if (!wanted || !*wanted) return identity(t);
  if ((*wanted)->size() != shape.size())
    return fail("its input has shape {}, it requires {}", print_shape(shape), print_shape(**wanted));
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim& size = (**wanted)[i];
    if (!size.is_number() || size == shape[i]) continue;
    return fail("its input has shape {}, it requires {}", print_shape(shape), print_shape(**wanted));
  }
  return identity(t);
}

Status cast(Translation& t) {
  const DType to = tensorflow::get_dtype(t.attributes(), "DstT");
  if (to == DType::undefined) return fail("it casts to a type that only TensorFlow has");
  if (tensorflow::get_bool(t.attributes(), "Truncate", false)) return fail("it truncates");
  t.give(0, t.cast(t.input(0), to));
  return {};
}

/// Divides; truncates for integers, as ONNX Div does.
Status divide(Translation& t) {
  t.give(0, t.make("Div", t.inputs()));
  return {};
}

Status real_div(Translation& t) {
  if (!is_float(t.dtype(0))) return fail("of {}", dtype_name(t.dtype(0)));
  return divide(t);
}

/// Divides; the result is zero where the divisor is zero.
Status div_no_nan(Translation& t) {
  if (!is_float(t.dtype(0))) return fail("of {}", dtype_name(t.dtype(0)));
  const ValueId zero = t.make_scalar(t.dtype(0), 0);
  t.give(0, t.make("Where", {t.make("Equal", {t.input(1), zero}), zero, t.make("Div", t.inputs())}));
  return {};
}

Status mul_no_nan(Translation& t) {
  const ValueId zero = t.make_scalar(t.dtype(0), 0);
  t.give(0, t.make("Where", {t.make("Equal", {t.input(1), zero}), zero, t.make("Mul", t.inputs())}));
  return {};
}

/// Translates x / y; the result is zero where x is zero.
Status xdivy(Translation& t) {
  if (!is_float(t.dtype(0))) return fail("of {}", dtype_name(t.dtype(0)));
  const ValueId zero = t.make_scalar(t.dtype(0), 0);
  t.give(0, t.make("Where", {t.make("Equal", {t.input(0), zero}), zero, t.make("Div", t.inputs())}));
  return {};
}

/// Divides integers exactly, as (a - floor_mod(a, b)) / b.
Status floor_div(Translation& t) {
  if (is_float(t.dtype(0))) {
    t.give(0, t.make("Floor", {t.make("Div", t.inputs())}));
  } else {
    const ValueId rest = t.make("Mod", t.inputs());
    t.give(0, t.make("Div", {t.make("Sub", {t.input(0), rest}), t.input(1)}));
  }
  return {};
}

/// Translates FloorMod, whose result has the divisor's sign.
Status floor_mod(Translation& t) {
  if (!is_float(t.dtype(0))) {
    t.give(0, t.make("Mod", t.inputs()));
    return {};
  }
  const ValueId rest = t.make("Mod", t.inputs(), {{"fmod", int64_t{1}}});
  const ValueId zero = t.make_scalar(t.dtype(0), 0);
  const ValueId is_zero = t.make("Equal", {rest, zero});
  const ValueId same_sign =
      t.make("Equal", {t.make("Less", {rest, zero}), t.make("Less", {t.input(1), zero})});
  t.give(0, t.make("Where", {t.make("Or", {is_zero, same_sign}), rest, t.make("Add", {rest, t.input(1)})}));
  return {};
}

Status truncate_mod(Translation& t) {
  t.give(0, t.make("Mod", t.inputs(), {{"fmod", int64_t{1}}}));
  return {};
}

Status squared_difference(Translation& t) {
  const ValueId difference = t.make("Sub", t.inputs());
  t.give(0, t.make("Mul", {difference, difference}));
  return {};
}

Status square(Translation& t) {
  t.give(0, t.make("Mul", {t.input(0), t.input(0)}));
  return {};
}

Status rsqrt(Translation& t) {
  t.give(0, t.make("Reciprocal", {t.make("Sqrt", {t.input(0)})}));
  return {};
}

Status log1p(Translation& t) {
  // log(1 + x) loses small x; x * log(u) / (u - 1) with u = 1 + x does not (Kahan).
  const ValueId one = t.make_scalar(t.dtype(0), 1), u = t.make("Add", {t.input(0), one}),
                log = t.make("Log", {u});
  const ValueId corrected = t.make("Mul", {log, t.make("Div", {t.input(0), t.make("Sub", {u, one})})});
  const ValueId tiny = t.make("Equal", {u, one});
  const ValueId infinite = t.make("IsInf", {u});
  t.give(0, t.make("Where", {tiny, t.input(0), t.make("Where", {infinite, log, corrected})}));
  return {};
}

/// Translates Expm1 without cancellation near zero.
Status expm1(Translation& t) {
  const ValueId half = t.make("Mul", {t.input(0), t.make_scalar(t.dtype(0), 0.5)});
  const ValueId tanh = t.make("Tanh", {half}), one = t.make_scalar(t.dtype(0), 1);
  // exp(x) - 1 = tanh(x/2) (exp(x) + 1)
  t.give(0, t.make("Mul", {tanh, t.make("Add", {t.make("Exp", {t.input(0)}), one})}));
  return {};
}

Status softplus(Translation& t) {
  t.give(0, t.make("Softplus", {t.input(0)}));
  return {};
}

Status relu6(Translation& t) {
  t.give(0, t.make("Clip", {t.input(0), t.make_scalar(t.dtype(0), 0), t.make_scalar(t.dtype(0), 6)}));
  return {};
}

Status leaky_relu(Translation& t) {
  t.give(0, t.make("LeakyRelu", {t.input(0)}, {{"alpha", t.attributes().get_float("alpha", 0.2f)}}));
  return {};
}

Status elu(Translation& t) {
  t.give(0, t.make("Elu", {t.input(0)}, {{"alpha", 1.0f}}));
  return {};
}

Status selu(Translation& t) {
  t.give(0, t.make("Selu", {t.input(0)}));
  return {};
}

Status not_equal(Translation& t) {
  t.give(0, t.make("Not", {t.make("Equal", t.inputs())}));
  return {};
}

Status clip(Translation& t) {
  t.give(0, t.make("Min", {t.make("Max", {t.input(0), t.input(1)}), t.input(2)}));
  return {};
}

Status is_finite(Translation& t) {
  t.give(0, t.make("Not", {t.make("Or", {t.make("IsNaN", {t.input(0)}), t.make("IsInf", {t.input(0)})})}));
  return {};
}

/// Translates the old Select, whose condition may be a vector that chooses rows.
Status select(Translation& t) {
  const int64_t condition = TRY(t.rank(0)), rank = TRY(t.rank(1));
  if (condition == rank || condition == 0) return same<where_>(t);
  if (condition != 1 || rank == 0) return fail("of rank {} by a condition of rank {}", rank, condition);
  std::vector<int64_t> added(static_cast<size_t>(rank - 1));
  std::iota(added.begin(), added.end(), 1);
  const ValueId rows = added.empty() ? t.input(0) : t.make("Unsqueeze", {t.input(0), t.make_integers(added)});
  t.give(0, t.make("Where", {rows, t.input(1), t.input(2)}));
  return {};
}

Status add_n(Translation& t) {
  if (t.input_count() == 1) return identity(t);
  ValueId sum = t.input(0);
  for (size_t i = 1; i < t.input_count(); ++i) sum = t.make("Add", {sum, t.input(i)});
  t.give(0, sum);
  return {};
}

Status bias_add(Translation& t) {
  const int64_t rank = TRY(t.rank(0)), bias_rank = TRY(t.rank(1));
  if (rank < 2 || bias_rank != 1) return fail("of rank {} and {}", rank, bias_rank);
  const bool channels_first = t.attributes().get_string("data_format", "NHWC") == "NCHW";
  ValueId bias = t.input(1);
  if (channels_first && rank > 2) {
    Shape shape(static_cast<size_t>(rank), 1);
    shape[1] = TRY(t.shape(1))[0];
    bias = t.reshape(bias, shape);
  }
  t.give(0, t.make("Add", {t.input(0), bias}));
  return {};
}

Status shift_left(Translation& t) {
  t.give(0, t.make("BitShift", t.inputs(), {{"direction", std::string("LEFT")}}));
  return {};
}

Status xlogy(Translation& t) {
  const ValueId zero = t.make_scalar(t.dtype(0), 0);
  t.give(0, t.make("Where", {t.make("Equal", {t.input(0), zero}), zero,
                             t.make("Mul", {t.input(0), t.make("Log", {t.input(1)})})}));
  return {};
}

Status erfc(Translation& t) {
  t.give(0, t.make("Sub", {t.make_scalar(t.dtype(0), 1), t.make("Erf", {t.input(0)})}));
  return {};
}

Status zeros_like(Translation& t) {
  t.give(0, t.make("Expand", {t.make_scalar(t.dtype(0), 0), t.make("Shape", {t.input(0)})}));
  return {};
}

Status ones_like(Translation& t) {
  t.give(0, t.make("Expand", {t.make_scalar(t.dtype(0), 1), t.make("Shape", {t.input(0)})}));
  return {};
}

constexpr TranslationRow elementwise_rows[] = {
    {"Abs", same<abs_>},
    {"Acos", same<acos_>},
    {"Acosh", same<acosh_>},
    {"Asin", same<asin_>},
    {"Asinh", same<asinh_>},
    {"Atan", same<atan_>},
    {"Atanh", same<atanh_>},
    {"Ceil", same<ceil_>},
    {"Cos", same<cos_>},
    {"Cosh", same<cosh_>},
    {"Erf", same<erf_>},
    {"Erfc", erfc},
    {"Exp", same<exp_>},
    {"Expm1", expm1},
    {"Floor", same<floor_>},
    {"Log", same<log_>},
    {"Log1p", log1p},
    {"Neg", same<neg_>},
    {"Relu", same<relu_>},
    {"Relu6", relu6},
    {"LeakyRelu", leaky_relu},
    {"Elu", elu},
    {"Selu", selu},
    {"Rint", same<round_>},
    {"Round", same<round_>},
    {"Sigmoid", same<sigmoid_>},
    {"Sign", same<sign_>},
    {"Sin", same<sin_>},
    {"Sinh", same<sinh_>},
    {"Softplus", softplus},
    {"Softsign", same<softsign_>},
    {"Sqrt", same<sqrt_>},
    {"Square", square},
    {"Rsqrt", rsqrt},
    {"Tan", same<tan_>},
    {"Tanh", same<tanh_>},
    {"Inv", same<reciprocal_>},
    {"Reciprocal", same<reciprocal_>},
    {"Identity", identity},
    {"IdentityN", alias_all},
    {"StopGradient", identity},
    {"PreventGradient", identity},
    {"Snapshot", identity},
    {"EnsureShape", ensure_shape},
    {"Cast", cast},
    {"Add", same<add_>},
    {"AddV2", same<add_>},
    {"AddN", add_n},
    {"AccumulateNV2", add_n},
    {"Sub", same<sub_>},
    {"Mul", same<mul_>},
    {"Div", divide},
    {"RealDiv", real_div},
    {"TruncateDiv", divide},
    {"DivNoNan", div_no_nan},
    {"MulNoNan", mul_no_nan},
    {"FloorDiv", floor_div},
    {"FloorMod", floor_mod},
    {"Mod", truncate_mod},
    {"TruncateMod", truncate_mod},
    {"Maximum", same<max_>},
    {"Minimum", same<min_>},
    {"Pow", same<pow_>},
    {"SquaredDifference", squared_difference},
    {"Xdivy", xdivy},
    {"Xlogy", xlogy},
    {"BiasAdd", bias_add},
    {"BiasAddV1", bias_add},
    {"Equal", same<equal_>},
    {"NotEqual", not_equal},
    {"Less", same<less_>},
    {"LessEqual", same<less_equal_>},
    {"Greater", same<greater_>},
    {"GreaterEqual", same<greater_equal_>},
    {"LogicalAnd", same<and_>},
    {"LogicalOr", same<or_>},
    {"LogicalNot", same<not_>},
    {"IsNan", same<is_nan_>},
    {"IsInf", same<is_inf_>},
    {"IsFinite", is_finite},
    {"BitwiseAnd", same<bit_and_>},
    {"BitwiseOr", same<bit_or_>},
    {"BitwiseXor", same<bit_xor_>},
    {"Invert", same<bit_not_>},
    {"LeftShift", shift_left},
    {"Select", select},
    {"SelectV2", same<where_>},
    {"ClipByValue", clip},
    {"ZerosLike", zeros_like},
    {"OnesLike", ones_like},
};

}  // namespace

std::span<const TranslationRow> elementwise_translations() { return elementwise_rows; }

}  // namespace intarsia
