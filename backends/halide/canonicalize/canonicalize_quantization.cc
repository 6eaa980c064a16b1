// Quantization of numbers, and operators of ONNX that multiply integers of 8 bits.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/canonicalize/few_bits.h"
#include "backends/halide/canonicalize/integer_product.h"
#include "backends/halide/canonicalize/quantized_constants.h"
#include "backends/halide/core/half_floats.h"

namespace intarsia::halide {
namespace {

int64_t axis_of(const Rewriter& r, int64_t rank) {
  const int64_t axis = r.attributes().get_int("axis", 1);
  return axis < 0 ? axis + rank : axis;
}

/// Shapes in which scales and zero points broadcast to the values that they are for.
struct QuantizationShapes {
  SymbolicShape values, scales;
};

/// Returns the shapes for scales of blocks along an axis: the blocks become an axis of the values.
Result<QuantizationShapes> shapes_of_blocks(const Rewriter& r, ValueId scale, const SymbolicShape& sizes,
                                            int64_t block) {
  const auto axis =
      static_cast<size_t>(TRY(r.axis(r.attributes().get_int("axis", 1), static_cast<int64_t>(sizes.size()))));
  if (block < 0 || !sizes[axis].is_number() || sizes[axis].number() % block != 0)
    return fail("{} in blocks of {}, which do not divide an axis of {}, is not supported", r.node().op, block,
                sizes[axis].print());
  const int64_t blocks = sizes[axis].number() / block;
  SymbolicShape wanted = sizes;
  wanted[axis] = blocks;
  if (r.sizes(scale) != wanted)
    return fail("{} of {} in blocks of {} with scales {}", r.node().op, print_shape(sizes), block,
                print_shape(r.sizes(scale)));
  QuantizationShapes shapes{sizes, wanted};
  shapes.values[axis] = block;
  shapes.values.insert(shapes.values.begin() + static_cast<ptrdiff_t>(axis), blocks);
  shapes.scales.insert(shapes.scales.begin() + static_cast<ptrdiff_t>(axis) + 1, 1);
  return shapes;
}

/// Checks scale and zero point, which are for all numbers at once, for each index of an axis, or for each
/// block along one.
Result<QuantizationShapes> quantization_shapes(const Rewriter& r, ValueId scale, ValueId zero,
                                               const SymbolicShape& sizes) {
  if (compute_dtype(r.dtype(scale)) != DType::f32)
    return fail("{} with a scale of {} is not supported", r.node().op, dtype_name(r.dtype(scale)));
  const auto elements = [&](ValueId value) {
    return product_of_dims(r.sizes(value), 0, r.sizes(value).size());
  };
  if (zero != no_value && r.sizes(zero) != r.sizes(scale) && elements(zero) != elements(scale))
    return fail("{} with scales {}, zero points {}", r.node().op, print_shape(r.sizes(scale)),
                print_shape(r.sizes(zero)));
  if (const int64_t block = r.attributes().get_int("block_size", 0); block != 0)
    return shapes_of_blocks(r, scale, sizes, block);
  if (r.rank(scale) > 1) return fail("{} with a scale of rank {}", r.node().op, r.rank(scale));
  if (r.rank(scale) == 0 || r.sizes(scale)[0] == 1) return QuantizationShapes{sizes, {}};
  const auto axis =
      static_cast<size_t>(TRY(r.axis(r.attributes().get_int("axis", 1), static_cast<int64_t>(sizes.size()))));
  if (sizes[axis] != r.sizes(scale)[0])
    return fail("{} of {} with scales {}", r.node().op, print_shape(sizes), print_shape(r.sizes(scale)));
  SymbolicShape scales(sizes.size() - axis, 1);
  scales[0] = sizes[axis];
  return QuantizationShapes{sizes, scales};
}

/// Leaves numbers of one scale to their readers; others, and those of 16 and 32 bits, are computed here.
Status dequantize_linear(Rewriter& r) {
  if (TRY(dequantize_few_bits(r))) return {};
  const ValueId x = r.stored_in(0), scale = r.stored_in(1);
  const DType dtype = r.dtype(x);
  const bool is_taken = is_8_bits(dtype) || dtype == DType::i16 || dtype == DType::u16 || dtype == DType::i32;
  if (!is_taken) return fail("DequantizeLinear of {} is not supported", dtype_name(dtype));
  const ValueId given = r.has_input(2) ? r.stored_in(2) : no_value;
  if (given != no_value && r.dtype(given) != dtype)
    return fail("DequantizeLinear of {} with a zero point of {}", dtype_name(dtype),
                dtype_name(r.dtype(given)));
  const QuantizationShapes shapes = TRY(quantization_shapes(r, scale, given, r.sizes(x)));
  if (compute_dtype(r.stored_out_dtype()) != DType::f32)
    return fail("DequantizeLinear to {} is not supported", dtype_name(r.stored_out_dtype()));
  const bool is_f32 = r.dtype(scale) == DType::f32 && r.stored_out_dtype() == DType::f32;
  const bool is_known =
      is_f32 && r.constant(scale) != nullptr && (given == no_value || r.constant(given) != nullptr);
  if (is_8_bits(dtype) && is_known && r.attributes().get_int("block_size", 0) == 0) {
    const Shape shape = r.constant(scale)->shape();
    Tensor zeros(dtype, shape);
    std::memset(zeros.data(), 0, zeros.bytes());
    if (given != no_value) std::memcpy(zeros.data(), r.constant(given)->data(), zeros.bytes());
    const ValueId zero = r.add_constant(with_other_sign(zeros, DType::u8));
    r.set_quantized(0, {r.unsigned_in(0), scale, zero, axis_of(r, r.rank(x))});
    return {};
  }
  const ValueId zero = given == no_value ? r.add_scalar(0, dtype) : r.reshape(given, shapes.scales);
  const ValueId scales = r.reshape(r.converted(scale, DType::f32), shapes.scales);
  const ValueId numbers =
      r.emit(CoreOp::dequantize, {r.reshape(x, shapes.values), scales, zero}, DType::f32, shapes.values);
  r.set_output(0, r.reshape(numbers, r.out_sizes()));
  return {};
}

/// Emits a Quantize to 8 bits, as u8, of a scale and zero point that need not be constants.
ValueId quantize(Rewriter& r, ValueId x, ValueId scale, ValueId zero) {
  if (const Tensor* constant = r.constant(zero)) zero = r.add_constant(with_other_sign(*constant, DType::u8));
  return r.emit(CoreOp::quantize, {x, scale, zero}, DType::u8, r.sizes(x));
}

/// Quotient of f32 that a QuantizeLinear rounds to integers.
struct Quotient {
  ValueId x, scale;
};

/// Returns the quotient in the operator's precision: one of 16 bits is rounded to it first.
Quotient quotient(Rewriter& r, ValueId x, ValueId scale) {
  const int64_t asked = r.attributes().get_int("precision", 0);
  const DType precision = asked != 0 ? static_cast<DType>(asked) : r.dtype(r.stored_in(1));
  const auto rounded = [&](ValueId value) { return r.converted(r.converted(value, precision), DType::f32); };
  if (!is_half_float(precision)) return {r.converted(x, DType::f32), r.converted(scale, DType::f32)};
  const ValueId divided = r.emit(CoreOp::div, {rounded(x), rounded(scale)}, DType::f32, r.sizes(x));
  return {rounded(divided), r.add_scalar(1, DType::f32)};
}

Status quantize_linear(Rewriter& r) {
  const ValueId x = r.stored_in(0), scale = r.stored_in(1);
  const DType dtype = r.stored_out_dtype();
  const auto precision = static_cast<DType>(r.attributes().get_int("precision", 0));
  if (precision != DType::undefined && compute_dtype(precision) != DType::f32)
    return fail("QuantizeLinear with a precision of {} is not supported", dtype_name(precision));
  if (compute_dtype(r.dtype(x)) != DType::f32)
    return fail("QuantizeLinear of {} is not supported", dtype_name(r.dtype(x)));
  if (!is_8_bits(dtype) && dtype != DType::i16 && dtype != DType::u16)
    return fail("QuantizeLinear to {} is not supported", dtype_name(dtype));
  const ValueId given = r.has_input(2) ? r.stored_in(2) : r.add_scalar(0, dtype);
  const QuantizationShapes shapes =
      TRY(quantization_shapes(r, scale, r.has_input(2) ? given : no_value, r.sizes(x)));
  const ValueId zero = r.has_input(2) ? r.reshape(given, shapes.scales) : given;
  if (dtype == DType::i8 && r.constant(zero) == nullptr)
    return fail("QuantizeLinear to i8 with a zero point not known at compile time is not supported");
  const Quotient of = quotient(r, r.reshape(x, shapes.values), r.reshape(scale, shapes.scales));
  if (is_8_bits(dtype))
    r.set_unsigned(0, r.reshape(quantize(r, of.x, of.scale, zero), r.out_sizes()));
  else
    r.set_output(
        0, r.reshape(r.emit(CoreOp::quantize, {of.x, of.scale, zero}, dtype, shapes.values), r.out_sizes()));
  return {};
}

/// Quantizes in the range of all numbers, widened to hold 0.
Status dynamic_quantize_linear(Rewriter& r) {
  const ValueId x = r.in(0);
  const SymbolicShape sizes = r.sizes(x);
  std::vector<int64_t> axes(sizes.size());
  std::iota(axes.begin(), axes.end(), 0);
  const ValueId zero = r.add_scalar(0, DType::f32);
  const auto extreme = [&](CoreOp reduction, CoreOp with_zero) {
    const ValueId all = sizes.empty() ? x
                                      : r.emit(reduction, {x}, DType::f32, SymbolicShape(sizes.size(), 1),
                                               ReductionAttributes{.axes = axes, .skip_nan = true});
    return r.emit_elementwise(with_zero, {r.reshape(all, SymbolicShape{}), zero});
  };
  const ValueId most = extreme(CoreOp::reduce_max, CoreOp::max),
                least = extreme(CoreOp::reduce_min, CoreOp::min);
  const ValueId range = r.emit_elementwise(CoreOp::sub, {most, least});
  const ValueId scale = r.emit_elementwise(CoreOp::div, {range, r.add_scalar(255, DType::f32)});
  const ValueId is_flat = r.emit(CoreOp::equal, {scale, zero}, DType::boolean, SymbolicShape{});
  const ValueId divisor =
      r.emit(CoreOp::where, {is_flat, r.add_scalar(1, DType::f32), scale}, DType::f32, SymbolicShape{});
  const ValueId zero_point =
      quantize(r, r.emit_elementwise(CoreOp::neg, {least}), divisor, r.add_scalar(0, DType::u8));
  if (has_output(r.node(), 0)) r.set_output(0, quantize(r, x, divisor, zero_point));
  if (has_output(r.node(), 1)) r.set_output(1, scale);
  if (has_output(r.node(), 2)) r.set_output(2, zero_point);
  return {};
}

/// Returns constants of 8 bits as u8.
Result<Tensor> constant_factor(Rewriter& r, size_t input) {
  const Tensor* constant = r.constant(r.stored_in(input));
  if (constant == nullptr || !is_8_bits(constant->dtype()))
    return fail("{} by weights that are not a constant of 8 bits is not supported", r.node().op);
  return with_other_sign(*constant, DType::u8);
}

/// Inputs of an operator that multiplies integers.
struct ProductInputs {
  size_t x = 0, x_zero = 2, weights = 1, weights_zero = 3;
};

Result<IntegerProduct> product_of(Rewriter& r, const ProductInputs& inputs, const Tensor* scale, bool is_conv,
                                  int64_t pad_value) {
  const Tensor integers = TRY(constant_factor(r, inputs.weights));
  if (!is_8_bits(r.dtype(r.stored_in(inputs.x))))
    return fail("{} of {} is not supported", r.node().op, dtype_name(r.dtype(r.stored_in(inputs.x))));
  if (!is_conv && integers.shape().size() != 2)
    return fail("{} by weights of rank {} is not supported", r.node().op, integers.shape().size());
  const Tensor zero = TRY(zero_point(r, inputs.weights_zero, r.dtype(r.stored_in(inputs.weights))));
  Weights weights = TRY(read_weights(r, integers, scale, zero, is_conv ? 0 : 1));
  std::optional<ConvAttributes> conv;
  if (is_conv) {
    conv = TRY(conv_attributes(r, r.sizes(r.stored_in(inputs.x)), integers.shape()));
    conv->pad_value = pad_value;
  }
  return IntegerProduct(r, r.unsigned_in(inputs.x), std::move(weights), std::move(conv));
}

/// Rewrites MatMulInteger and ConvInteger. The zero point of the activations may be computed at run time,
/// if nothing is padded: pads have that zero point as their value.
Status integer_product(Rewriter& r) {
  const bool is_conv = r.node().op == "ConvInteger";
  const DType dtype = r.dtype(r.stored_in(0));
  const ValueId given = r.has_input(2) ? r.stored_in(2) : r.add_scalar(0, dtype);
  if (r.dtype(given) != dtype || product_of_dims(r.sizes(given), 0, r.sizes(given).size()) != 1)
    return fail("{} with a zero point of {}", r.node().op, print_type({r.dtype(given), r.sizes(given)}));
  const int64_t shift = dtype == DType::i8 ? 128 : 0;
  const Tensor* known = r.constant(given);
  const int64_t zero = known != nullptr ? only_integer(*known) + shift : 0;
  const bool pads = is_conv && (r.attributes().get_string("auto_pad", "NOTSET").starts_with("SAME") ||
                                !all_are(r.attributes().get_ints("pads"), 0));
  if (known == nullptr && pads)
    return fail("{} with pads of a number not known at compile time is not supported", r.node().op);
  IntegerProduct product = TRY(product_of(r, {}, nullptr, is_conv, zero));
  const ValueId sums = TRY(product.sums());
  std::vector<int64_t> excess = product.sums_of_weights();
  if (known != nullptr)
    for (int64_t& of_channel : excess) of_channel *= zero;
  ValueId too_much = product.channel_constant(excess);
  if (known == nullptr) {
    ValueId steps = r.reshape(r.emit(CoreOp::cast, {given}, DType::i32, r.sizes(given)), SymbolicShape{});
    if (shift != 0) steps = r.emit_elementwise(CoreOp::add, {steps, r.add_scalar(128, DType::i32)});
    too_much = r.emit_elementwise(CoreOp::mul, {too_much, steps});
  }
  r.set_output(0, r.emit_elementwise(CoreOp::sub, {sums, too_much}));
  return {};
}

/// Returns a constant scalar of a QLinear operator.
Result<double> constant_scalar(Rewriter& r, size_t input) {
  const Tensor* tensor = r.constant(r.stored_in(input));
  const std::optional<double> number = tensor != nullptr ? read_scalar(*tensor) : std::nullopt;
  if (!number)
    return fail("{} with input {} that is not a constant number is not supported", r.node().op, input);
  return *number;
}

/// Rewrites QLinearConv and QLinearMatMul.
Status qlinear(Rewriter& r) {
  const bool is_conv = r.node().op == "QLinearConv";
  const Tensor x_zero = TRY(zero_point(r, 2, r.dtype(r.stored_in(0))));
  const double x_scale = TRY(constant_scalar(r, 1)), y_scale = TRY(constant_scalar(r, 6));
  const Tensor* scale = r.constant(r.stored_in(4));
  if (!has_one(&x_zero) || scale == nullptr || scale->dtype() != DType::f32)
    return fail("{} with scales or zero points that are not constants is not supported", r.node().op);
  const int64_t zero = only_integer(x_zero);
  IntegerProduct product =
      TRY(product_of(r, {.x = 0, .x_zero = 2, .weights = 3, .weights_zero = 5}, scale, is_conv, zero));
  std::vector<int64_t> bias;
  if (is_conv && r.has_input(8)) {
    const Tensor* given = r.constant(r.stored_in(8));
    if (given == nullptr || given->dtype() != DType::i32)
      return fail("QLinearConv with a bias that is not a constant of i32");
    bias.assign(given->as<int32_t>().begin(), given->as<int32_t>().end());
    if (static_cast<int64_t>(bias.size()) != r.shape(r.stored_in(3))[0])
      return fail("QLinearConv with a bias of {} elements", bias.size());
  }
  const ValueId numbers = TRY(product.numbers(static_cast<float>(x_scale), zero, bias));
  const Tensor y_zero = TRY(zero_point(r, 7, r.stored_out_dtype()));
  if (!has_one(&y_zero)) return fail("{} with several zero points of y", r.node().op);
  r.set_unsigned(0, quantize(r, numbers, r.add_scalar(y_scale, DType::f32),
                             r.add_scalar(only_integer(y_zero), DType::u8)));
  return {};
}

constexpr std::array quantization_rule_list = std::to_array<RuleEntry>({
    {"DequantizeLinear", dequantize_linear},
    {"QuantizeLinear", quantize_linear},
    {"DynamicQuantizeLinear", dynamic_quantize_linear},
    {"MatMulInteger", integer_product},
    {"ConvInteger", integer_product},
    {"QLinearConv", qlinear},
    {"QLinearMatMul", qlinear},
});

}  // namespace

Result<Tensor> zero_point(Rewriter& r, size_t input, DType dtype) {
  Tensor zero(dtype, {});
  std::memset(zero.data(), 0, zero.bytes());
  if (!r.has_input(input)) return with_other_sign(zero, DType::u8);
  const Tensor* given = r.constant(r.stored_in(input));
  if (given == nullptr) return fail("{} with zero point {} not known at compile time", r.node().op, input);
  if (given->dtype() != dtype)
    return fail("{} of {} with a zero point of {}", r.node().op, dtype_name(dtype),
                dtype_name(given->dtype()));
  return with_other_sign(*given, DType::u8);
}

std::span<const RuleEntry> quantization_rules() { return quantization_rule_list; }

}  // namespace intarsia::halide
