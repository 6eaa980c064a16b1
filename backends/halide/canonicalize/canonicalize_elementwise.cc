// Elementwise operators stay as they are; parameters become attributes, variadic forms become chains of
// binary ones.
#include <algorithm>
#include <array>
#include <limits>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/core/half_floats.h"

namespace intarsia::halide {
namespace {

Status no_complaint(Rewriter& r, ValueId out) {
  r.set_output(0, out);
  return {};
}

/// Keeps the operator and its inputs.
Status keep_with(Rewriter& r, const CoreAttributes& attributes) {
  const std::optional<CoreOp> op = find_core_op(r.node().op);
  INTARSIA_CHECK(op.has_value());  // rules that keep an operator are only for core operators
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < r.node().inputs.size(); ++i) inputs.push_back(r.in(i));
  return no_complaint(r, r.emit(*op, inputs, r.out_dtype(), r.out_sizes(), attributes));
}

Status keep(Rewriter& r) { return keep_with(r, {}); }

Status keep_float_with(Rewriter& r, const CoreAttributes& attributes) {
  TRY(require_floats(r));
  return keep_with(r, attributes);
}

Status keep_float(Rewriter& r) { return keep_float_with(r, {}); }

Status keep_f32_with(Rewriter& r, const CoreAttributes& attributes) {
  if (r.dtype(r.in(0)) != DType::f32)
    return fail("{} on {} is not supported", r.node().op, dtype_name(r.dtype(r.in(0))));
  return keep_with(r, attributes);
}

Status keep_f32(Rewriter& r) { return keep_f32_with(r, {}); }

Status exp(Rewriter& r) { return keep_float_with(r, ExpAttributes{}); }

Status is_inf(Rewriter& r) {
  return keep_float_with(r, IsInfAttributes{r.attributes().get_int("detect_positive", 1) != 0,
                                            r.attributes().get_int("detect_negative", 1) != 0});
}

Status gelu(Rewriter& r) {
  return keep_f32_with(r, GeluAttributes{r.attributes().get_string("approximate", "none") == "tanh"});
}

Status leaky_relu(Rewriter& r) {
  return keep_float_with(r, AlphaAttributes{r.attributes().get_float("alpha", 0.01f)});
}

Status keep_alpha(Rewriter& r) {
  return keep_float_with(r, AlphaAttributes{r.attributes().get_float("alpha", 1)});
}

Status hard_sigmoid(Rewriter& r) {
  const HardSigmoidAttributes otherwise;
  return keep_float_with(r, HardSigmoidAttributes{r.attributes().get_float("alpha", otherwise.alpha),
                                                  r.attributes().get_float("beta", otherwise.beta)});
}

Status selu(Rewriter& r) {
  const SeluAttributes otherwise;
  return keep_float_with(r, SeluAttributes{r.attributes().get_float("alpha", otherwise.alpha),
                                           r.attributes().get_float("gamma", otherwise.gamma)});
}

Status shrink(Rewriter& r) {
  const ShrinkAttributes otherwise;
  return keep_float_with(r, ShrinkAttributes{r.attributes().get_float("lambd", otherwise.lambd),
                                             r.attributes().get_float("bias", otherwise.bias)});
}

Status mod(Rewriter& r) {
  DType dtype = r.dtype(r.in(0));
  if (is_float(dtype)) return fail("Mod on {} is not supported", dtype_name(dtype));
  return keep_with(r, ModAttributes{r.attributes().get_int("fmod", 0) != 0});
}

/// Rewrites Pow, the only ONNX operator whose inputs may have different dtypes.
Status pow(Rewriter& r) {
  ValueId exponent = r.in(1);
  if (r.dtype(r.in(0)) != DType::f32) return fail("Pow on {} is not supported", dtype_name(r.dtype(r.in(0))));
  if (r.dtype(exponent) != DType::f32) {
    const Tensor* constant = r.constant(exponent);
    exponent =
        constant && element_count(constant->shape()) == 1
            ? r.reshape(r.add_scalar(TRY(r.scalar("", 1, 0)), DType::f32), to_symbolic(constant->shape()))
            : r.emit(CoreOp::cast, {exponent}, DType::f32, r.sizes(exponent));
  }
  return no_complaint(r, r.emit(CoreOp::pow, {r.in(0), exponent}, DType::f32, r.out_sizes()));
}

Status cast(Rewriter& r) {
  return no_complaint(r, r.emit(CoreOp::cast, {r.stored_in(0)}, r.stored_out_dtype(), r.out_sizes()));
}

/// Rewrites BitCast. A bool is the integer 0 or 1; floats of 16 bits are in no register.
Status bit_cast(Rewriter& r) {
  const DType from = r.dtype(r.stored_in(0)), to = r.stored_out_dtype();
  if (is_half_float(from) || is_half_float(to) || to == DType::boolean)
    return fail("BitCast of {} to {} is not supported", dtype_name(from), dtype_name(to));
  const bool converts = from == DType::boolean;
  if (dtype_bytes(from, 1) != dtype_bytes(to, 1))
    return fail("BitCast of {} to {}: their sizes differ", dtype_name(from), dtype_name(to));
  const CoreOp op = converts ? CoreOp::cast : CoreOp::bit_cast;
  return no_complaint(r, from == to ? r.stored_in(0) : r.emit(op, {r.stored_in(0)}, to, r.out_sizes()));
}

/// Rewrites Sum, Mean, Max and Min of any number of inputs.
Status variadic(Rewriter& r) {
  const bool adds = r.node().op == "Sum" || r.node().op == "Mean";
  const CoreOp op = adds ? CoreOp::add : r.node().op == "Max" ? CoreOp::max : CoreOp::min;
  ValueId out = r.in(0);
  size_t count = r.node().inputs.size();
  for (size_t i = 1; i < count; ++i) out = r.emit_elementwise(op, {out, r.in(i)});
  if (r.node().op == "Mean")
    out = r.emit_elementwise(CoreOp::div, {out, r.add_scalar(static_cast<double>(count), r.dtype(out))});
  return no_complaint(r, out);
}

/// Applies the lower bound first: where the bounds cross, ONNX takes the upper one.
Status clip(Rewriter& r) {
  ValueId out = r.in(0);
  constexpr CoreOp ops[] = {CoreOp::max, CoreOp::min};
  const char* names[] = {"min", "max"};
  for (size_t i = 0; i < 2; ++i) {
    ValueId bound = no_value;
    if (r.has_input(i + 1))
      bound = r.in(i + 1);
    else if (r.attributes().has(names[i]))
      bound = r.add_scalar(r.attributes().get_float(names[i], 0), r.dtype(out));
    if (bound != no_value) out = r.emit(ops[i], {out, r.reshape(bound, {})}, r.dtype(out), r.out_sizes());
  }
  return no_complaint(r, out);
}

Status identity(Rewriter& r) { return no_complaint(r, r.stored_in(0)); }

/// Rewrites Dropout, for inference only: the values pass, the mask is all true.
Status dropout(Rewriter& r) {
  bool training = r.attributes().get_int("is_test", 1) == 0 && r.version() < 7;
  if (r.has_input(2)) training = TRY(r.scalar("", 2, 0)) != 0;
  if (training) return fail("Dropout in training mode is not supported");
  if (intarsia::has_output(r.node(), 1)) {
    ValueId all = r.reshape(r.add_scalar(1, DType::boolean), SymbolicShape(r.out_sizes(1).size(), 1));
    r.set_output(1, r.emit(CoreOp::expand, {all}, DType::boolean, r.out_sizes(1)));
  }
  return identity(r);
}

/// Rewrites PRelu as Where(x < 0, x * slope, x): the slope broadcasts to x in one direction only.
Status prelu(Rewriter& r) {
  ValueId x = r.in(0), zero = r.add_scalar(0, r.dtype(x));
  TRY(r.require_broadcast(r.in(1), r.sizes(x)));
  ValueId negative = r.emit(CoreOp::less, {x, zero}, DType::boolean, r.sizes(x));
  ValueId scaled = r.emit(CoreOp::mul, {x, r.in(1)}, r.dtype(x), r.sizes(x));
  return no_complaint(r, r.emit(CoreOp::where, {negative, scaled, x}, r.dtype(x), r.sizes(x)));
}

Status swish(Rewriter& r) {
  ValueId x = r.in(0);
  float alpha = r.attributes().get_float("alpha", 1.0f);
  ValueId scaled = alpha == 1.0f ? x : r.emit_elementwise(CoreOp::mul, {x, r.add_scalar(alpha, r.dtype(x))});
  return no_complaint(r, r.emit_elementwise(CoreOp::mul, {x, r.emit_elementwise(CoreOp::sigmoid, {scaled})}));
}

/// Refuses signed types: a negative amount shifts every bit out, while in Halide it shifts the other way.
Status bit_shift(Rewriter& r) {
  constexpr std::array unsigned_types = {DType::u8, DType::u16, DType::u32, DType::u64};
  DType dtype = r.dtype(r.in(0));
  if (std::ranges::find(unsigned_types, dtype) == unsigned_types.end())
    return fail("BitShift on {} is not supported", dtype_name(dtype));
  return keep_with(r, BitShiftAttributes{r.attributes().get_string("direction", "LEFT") != "LEFT"});
}

constexpr std::array elementwise_rule_list = std::to_array<RuleEntry>({
    {"Abs", keep},
    {"Neg", keep},
    {"Sign", keep},
    {"Relu", keep},
    {"Not", keep},
    {"BitwiseNot", keep},
    {"Add", keep},
    {"Sub", keep},
    {"Mul", keep},
    {"Div", keep},
    {"And", keep},
    {"Or", keep},
    {"Xor", keep},
    {"BitwiseAnd", keep},
    {"BitwiseOr", keep},
    {"BitwiseXor", keep},
    {"BitShift", bit_shift},
    {"Equal", keep},
    {"Less", keep},
    {"LessOrEqual", keep},
    {"Greater", keep},
    {"GreaterOrEqual", keep},
    {"Where", keep},
    {"Sqrt", keep_float},
    {"Reciprocal", keep_float},
    {"Floor", keep_float},
    {"Ceil", keep_float},
    {"Round", keep_float},
    {"IsNaN", keep_float},
    {"IsInf", is_inf},
    {"LeakyRelu", leaky_relu},
    {"ThresholdedRelu", keep_alpha},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", keep_float},
    {"Softsign", keep_float},
    {"Shrink", shrink},
    {"Exp", exp},
    {"Log", keep_float},
    {"Sin", keep_float},
    {"Cos", keep_float},
    {"Tan", keep_float},
    {"Asin", keep_float},
    {"Acos", keep_float},
    {"Atan", keep_float},
    {"Sinh", keep_float},
    {"Cosh", keep_float},
    {"Asinh", keep_float},
    {"Acosh", keep_float},
    {"Atanh", keep_float},
    {"Sigmoid", keep_float},
    {"Softplus", keep_float},
    {"Elu", keep_alpha},
    {"Selu", selu},
    {"Celu", keep_alpha},
    {"Erf", keep_f32},
    {"Tanh", keep_f32},
    {"Gelu", gelu},
    {"Mish", keep_f32},
    {"Mod", mod},
    {"Pow", pow},
    {"Cast", cast},
    {"CastLike", cast},
    {"BitCast", bit_cast},
    {"Sum", variadic},
    {"Mean", variadic},
    {"Max", variadic},
    {"Min", variadic},
    {"Clip", clip},
    {"Identity", identity},
    {"Dropout", dropout},
    {"PRelu", prelu},
    {"Swish", swish},
});

}  // namespace

std::span<const RuleEntry> elementwise_rules() { return elementwise_rule_list; }

}  // namespace intarsia::halide
