#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

Status infer_is_float_class(ShapeContext& context) {
  context.set_output(0, DType::boolean, input_shape(context, 0));
  return {};
}

/// Infers Identity, which also takes sequences and optionals.
Status infer_identity(ShapeContext& context) {
  if (context.is_opaque(0)) {
    context.set_opaque_output(0, context.encoded_type(0));
    return {};
  }
  return same_as_input(context);
}

Status infer_cast(ShapeContext& context) {
  const DType to = TRY(dtype_attribute(context, "to", DType::undefined));
  if (to == DType::undefined) return fail("attribute to is missing");
  context.set_output(0, to, input_shape(context, 0));
  return {};
}

Status infer_bit_cast(ShapeContext& context) {
  const DType to = TRY(dtype_attribute(context, "to", DType::undefined));
  const DType from = context.dtype(0);
  if (from != DType::undefined && dtype_bits(from) != dtype_bits(to)) {
    return fail("{} and {} have different widths", dtype_name(from), dtype_name(to));
  }
  context.set_output(0, to, input_shape(context, 0));
  return {};
}

Status infer_cast_like(ShapeContext& context) {
  context.set_output(0, context.dtype(1), input_shape(context, 0));
  return {};
}

/// Infers Pow, whose exponent may be of another type.
Status infer_pow(ShapeContext& context) {
  context.set_output(0, context.dtype(0), TRY(broadcast_shape_of(context, 0, 2)));
  return {};
}

Status infer_where(ShapeContext& context) {
  const DType first = context.dtype(1), second = context.dtype(2);
  if (first != DType::undefined && second != DType::undefined && first != second) {
    return fail("chooses between {} and {}; want one type", dtype_name(first), dtype_name(second));
  }
  context.set_output(0, context.dtype(1), TRY(broadcast_shape_of(context, 0, 3)));
  return {};
}

}  // namespace

std::span<const OpInfo> elementwise_ops() {
  constexpr bool elementwise = true;
  constexpr bool commutative = true;
  static const OpInfo elementwise_rows[] = {
      {"Abs", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Acos", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Acosh", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Add", "", 2, 2, 1, 1, broadcast_inputs, elementwise, commutative},
      {"And", "", 2, 2, 1, 1, broadcast_inputs_to_bool, elementwise, commutative},
      {"Asin", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Asinh", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Atan", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Atanh", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"BitCast", "", 1, 1, 1, 1, infer_bit_cast, elementwise},
      {"BitShift", "", 2, 2, 1, 1, broadcast_inputs, elementwise},
      {"BitwiseAnd", "", 2, 2, 1, 1, broadcast_inputs, elementwise, commutative},
      {"BitwiseNot", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"BitwiseOr", "", 2, 2, 1, 1, broadcast_inputs, elementwise, commutative},
      {"BitwiseXor", "", 2, 2, 1, 1, broadcast_inputs, elementwise, commutative},
      {"Cast", "", 1, 1, 1, 1, infer_cast, elementwise},
      {"CastLike", "", 2, 2, 1, 1, infer_cast_like},
      {"Ceil", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Celu", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Clip", "", 1, 3, 1, 1, same_as_input, elementwise},
      {"Cos", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Cosh", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Div", "", 2, 2, 1, 1, broadcast_inputs, elementwise},
      {"Elu", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Equal", "", 2, 2, 1, 1, broadcast_inputs_to_bool, elementwise, commutative},
      {"Erf", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Exp", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Floor", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Gelu", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Greater", "", 2, 2, 1, 1, broadcast_inputs_to_bool, elementwise},
      {"GreaterOrEqual", "", 2, 2, 1, 1, broadcast_inputs_to_bool, elementwise},
      {"HardSigmoid", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"HardSwish", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Identity", "", 1, 1, 1, 1, infer_identity, elementwise},
      {"IsInf", "", 1, 1, 1, 1, infer_is_float_class, elementwise},
      {"IsNaN", "", 1, 1, 1, 1, infer_is_float_class, elementwise},
      {"LeakyRelu", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Less", "", 2, 2, 1, 1, broadcast_inputs_to_bool, elementwise},
      {"LessOrEqual", "", 2, 2, 1, 1, broadcast_inputs_to_bool, elementwise},
      {"Log", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Max", "", 1, -1, 1, 1, broadcast_inputs, elementwise, commutative},
      {"Mean", "", 1, -1, 1, 1, broadcast_inputs, elementwise, commutative},
      {"Min", "", 1, -1, 1, 1, broadcast_inputs, elementwise, commutative},
      {"Mish", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Mod", "", 2, 2, 1, 1, broadcast_inputs, elementwise},
      {"Mul", "", 2, 2, 1, 1, broadcast_inputs, elementwise, commutative},
      {"Neg", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Not", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Or", "", 2, 2, 1, 1, broadcast_inputs_to_bool, elementwise, commutative},
      {"PRelu", "", 2, 2, 1, 1, same_as_input, elementwise},
      {"Pow", "", 2, 2, 1, 1, infer_pow, elementwise},
      {"Reciprocal", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Relu", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Round", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Selu", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Shrink", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Sigmoid", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Sign", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Sin", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Sinh", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Softplus", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Softsign", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Sqrt", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Sub", "", 2, 2, 1, 1, broadcast_inputs, elementwise},
      {"Sum", "", 1, -1, 1, 1, broadcast_inputs, elementwise, commutative},
      {"SwiGLU", "", 2, 2, 1, 1, same_as_input, elementwise},
      {"Swish", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Tan", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Tanh", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"ThresholdedRelu", "", 1, 1, 1, 1, same_as_input, elementwise},
      {"Where", "", 3, 3, 1, 1, infer_where, elementwise},
      {"Xor", "", 2, 2, 1, 1, broadcast_inputs_to_bool, elementwise, commutative},
  };
  return elementwise_rows;
}

}  // namespace intarsia
