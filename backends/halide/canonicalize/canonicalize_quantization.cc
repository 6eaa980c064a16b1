// Quantized numbers, and products of integers of 8 bits. Kernels multiply u8 by constants of i8 and sum in
// i32, whatever the signs in the model are:
//   sum (x - zx) (w - zw)  =  sum x w  -  zx sum w  -  zw sum x  +  depth zx zw
// where all but the first sum and `sum x`, which most models multiply by 0, are constants.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/canonicalize/quantized_constants.h"

namespace intarsia::halide {
namespace {

bool is_8_bits(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

bool has_one(const Tensor* tensor) { return tensor != nullptr && element_count(tensor->shape()) == 1; }

/// Returns the only element of a tensor, as an i64.
int64_t only_integer(const Tensor& tensor) { return static_cast<int64_t>(read_scalar(tensor).value_or(0)); }

template <typename T>
Tensor tensor_of(DType dtype, const Shape& shape, const std::vector<T>& numbers) {
  Tensor tensor(dtype, shape);
  std::ranges::copy(numbers, tensor.as<T>().begin());
  return tensor;
}

// ---- numbers that integers stand for ----

/// Checks scale and zero point, which are given for all numbers at once or for each index of an axis.
Status check_quantization(const Rewriter& r, ValueId scale, ValueId zero, const SymbolicShape& sizes) {
  if (r.attributes().get_int("block_size", 0) != 0)
    return fail("{} with blocks is not supported", r.node().op);
  if (r.dtype(scale) != DType::f32)
    return fail("{} with a scale of {} is not supported", r.node().op, dtype_name(r.dtype(scale)));
  if (r.rank(scale) > 1) return fail("{} with a scale of rank {}", r.node().op, r.rank(scale));
  if (zero != no_value && r.sizes(zero) != r.sizes(scale) &&
      product_of_dims(r.sizes(zero), 0, r.sizes(zero).size()) !=
          product_of_dims(r.sizes(scale), 0, r.sizes(scale).size()))
    return fail("{} with scales {}, zero points {}", r.node().op, print_shape(r.sizes(scale)),
                print_shape(r.sizes(zero)));
  if (r.rank(scale) == 0 || r.sizes(scale)[0] == 1) return {};
  const auto axis =
      static_cast<size_t>(TRY(r.axis(r.attributes().get_int("axis", 1), static_cast<int64_t>(sizes.size()))));
  if (sizes[axis] != r.sizes(scale)[0])
    return fail("{} of {} with scales {}", r.node().op, print_shape(sizes), print_shape(r.sizes(scale)));
  return {};
}

/// Returns a scale or zero point in the shape in which it broadcasts to values of this rank.
ValueId along_axis(Rewriter& r, ValueId value, int64_t rank, int64_t axis) {
  if (r.rank(value) == 0) return value;
  SymbolicShape sizes = r.sizes(value);
  if (sizes[0] == 1) sizes.clear();
  if (!sizes.empty()) sizes.resize(static_cast<size_t>(rank - axis), 1);
  return r.reshape(value, sizes);
}

int64_t axis_of(const Rewriter& r, int64_t rank) {
  const int64_t axis = r.attributes().get_int("axis", 1);
  return axis < 0 ? axis + rank : axis;
}

/// Leaves numbers of one scale to their readers; others, and those of 16 and 32 bits, are computed here.
Status dequantize_linear(Rewriter& r) {
  const ValueId x = r.stored_in(0), scale = r.stored_in(1);
  const DType dtype = r.dtype(x);
  const bool is_taken = is_8_bits(dtype) || dtype == DType::i16 || dtype == DType::u16 || dtype == DType::i32;
  if (!is_taken) return fail("DequantizeLinear of {} is not supported", dtype_name(dtype));
  const ValueId given = r.has_input(2) ? r.stored_in(2) : no_value;
  if (given != no_value && r.dtype(given) != dtype)
    return fail("DequantizeLinear of {} with a zero point of {}", dtype_name(dtype),
                dtype_name(r.dtype(given)));
  TRY(check_quantization(r, scale, given, r.sizes(x)));
  if (r.stored_out_dtype() != DType::f32)
    return fail("DequantizeLinear to {} is not supported", dtype_name(r.stored_out_dtype()));
  const int64_t rank = r.rank(x);
  const bool is_known = r.constant(scale) != nullptr && (given == no_value || r.constant(given) != nullptr);
  if (is_8_bits(dtype) && is_known) {
    const Shape shape = r.constant(scale)->shape();
    Tensor zeros(dtype, shape);
    std::memset(zeros.data(), 0, zeros.bytes());
    if (given != no_value) std::memcpy(zeros.data(), r.constant(given)->data(), zeros.bytes());
    const ValueId zero = r.add_constant(with_other_sign(zeros, DType::u8));
    r.set_quantized(0, {r.unsigned_in(0), scale, zero, axis_of(r, rank)});
    return {};
  }
  const int64_t axis = axis_of(r, rank);
  const ValueId zero = given == no_value ? r.add_scalar(0, dtype) : along_axis(r, given, rank, axis);
  r.set_output(
      0, r.emit(CoreOp::dequantize, {x, along_axis(r, scale, rank, axis), zero}, DType::f32, r.out_sizes()));
  return {};
}

/// Emits a Quantize to 8 bits, as u8, of a scale and zero point that need not be constants.
ValueId quantize(Rewriter& r, ValueId x, ValueId scale, ValueId zero) {
  if (const Tensor* constant = r.constant(zero)) zero = r.add_constant(with_other_sign(*constant, DType::u8));
  return r.emit(CoreOp::quantize, {x, scale, zero}, DType::u8, r.sizes(x));
}

Status quantize_linear(Rewriter& r) {
  const ValueId x = r.stored_in(0), scale = r.stored_in(1);
  const DType dtype = r.stored_out_dtype();
  if (r.dtype(x) != DType::f32) return fail("QuantizeLinear of {} is not supported", dtype_name(r.dtype(x)));
  if (!is_8_bits(dtype) && dtype != DType::i16 && dtype != DType::u16)
    return fail("QuantizeLinear to {} is not supported", dtype_name(dtype));
  const ValueId given = r.has_input(2) ? r.stored_in(2) : r.add_scalar(0, dtype);
  TRY(check_quantization(r, scale, r.has_input(2) ? given : no_value, r.sizes(x)));
  const int64_t rank = r.rank(x), axis = axis_of(r, rank);
  const ValueId along = along_axis(r, scale, rank, axis), zero = along_axis(r, given, rank, axis);
  if (dtype == DType::i8 && r.constant(zero) == nullptr)
    return fail("QuantizeLinear to i8 with a zero point not known at compile time is not supported");
  if (is_8_bits(dtype))
    r.set_unsigned(0, quantize(r, x, along, zero));
  else
    r.set_output(0, r.emit(CoreOp::quantize, {x, along, zero}, dtype, r.out_sizes()));
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

// ---- products of integers ----

/// Constant factor of a product.
struct Weights {
  ValueId integers = no_value;       // i8
  int64_t depth = 1;                 // summands of a product
  std::vector<int64_t> sums, zeros;  // of each output channel
  std::vector<float> scales;

  bool is_symmetric() const { return all_are(zeros, 0); }
  int64_t channels() const { return static_cast<int64_t>(sums.size()); }
};

/// Reads constants of u8 whose output channels are `axis`; scale and zero are for all or for each of them.
Result<Weights> read_weights(Rewriter& r, const Tensor& integers, const Tensor* scale, const Tensor& zero,
                             int64_t axis) {
  const Tensor as_signed = with_other_sign(integers, DType::i8);
  Weights weights;
  weights.sums = sums_along(as_signed, static_cast<size_t>(axis));
  weights.depth = element_count(integers.shape()) / weights.channels();
  const auto fits = [&](const Tensor& tensor) {
    return has_one(&tensor) || element_count(tensor.shape()) == weights.channels();
  };
  if (!fits(zero) || (scale != nullptr && !fits(*scale)))
    return fail("{}: weights of {} channels with zero points {}", r.node().op, weights.channels(),
                print_shape(zero.shape()));
  for (size_t c = 0; c < weights.sums.size(); ++c) {
    weights.zeros.push_back(int64_t{zero.as<uint8_t>()[has_one(&zero) ? 0 : c]} - 128);
    if (scale != nullptr) weights.scales.push_back(scale->as<float>()[has_one(scale) ? 0 : c]);
  }
  weights.integers = r.add_constant(as_signed);
  return weights;
}

/// Product of integers of u8 by weights: a convolution, or a product of matrices with columns as channels.
class IntegerProduct {
 public:
  /// `conv` has the parameters of a convolution, and `zero` its padding; nullopt for matrices.
  IntegerProduct(Rewriter& r, ValueId x, Weights weights, std::optional<ConvAttributes> conv)
      : r_(r), x_(x), weights_(std::move(weights)), conv_(std::move(conv)) {}

  /// Emits the sums of products of x and w - zw, in i32.
  Result<ValueId> sums() {
    const ValueId sums =
        conv_ ? r_.emit(CoreOp::conv, {x_, weights_.integers}, DType::i32, r_.out_sizes(), *conv_)
              : TRY(matrix_product(r_, x_, weights_.integers, r_.out_sizes()));
    if (weights_.is_symmetric()) return sums;
    const ValueId zeros = channel_constant(weights_.zeros);
    return r_.emit_elementwise(
        CoreOp::sub, {sums, r_.emit(CoreOp::mul, {sums_of_x(), zeros}, DType::i32, r_.sizes(sums))});
  }

  /// Returns what the sums have too much for each step of x's zero point: the sum of w - zw.
  std::vector<int64_t> sums_of_weights() const {
    std::vector<int64_t> sums = weights_.sums;
    for (size_t c = 0; c < sums.size(); ++c) sums[c] -= weights_.depth * weights_.zeros[c];
    return sums;
  }

  /// Returns the numbers that the sums stand for, given x's scale and zero point, which are constants.
  /// `more` is added to the sums of each channel.
  Result<ValueId> numbers(float scale, int64_t zero, const std::vector<int64_t>& more = {}) {
    std::vector<int64_t> zeros = sums_of_weights();
    for (size_t c = 0; c < zeros.size(); ++c) zeros[c] = zero * zeros[c] - (more.empty() ? 0 : more[c]);
    std::vector<float> scales = weights_.scales;
    for (float& of_weights : scales) of_weights *= scale;
    const ValueId made = TRY(sums());
    return r_.emit(
        CoreOp::dequantize,
        {made, r_.add_constant(tensor_of(DType::f32, channel_shape(), scales)), channel_constant(zeros)},
        DType::f32, r_.sizes(made));
  }

  ValueId channel_constant(const std::vector<int64_t>& numbers) {
    std::vector<int32_t> narrow;
    for (int64_t number : numbers) narrow.push_back(static_cast<int32_t>(number));
    return r_.add_constant(tensor_of(DType::i32, channel_shape(), narrow));
  }

 private:
  Shape channel_shape() const {
    Shape shape(conv_ ? r_.out_sizes().size() - 1 : 1, 1);
    shape[0] = weights_.channels();
    return shape;
  }

  /// Emits the sum of x over all that a product multiplies.
  ValueId sums_of_x() {
    if (!conv_) {
      const SymbolicShape sizes = r_.sizes(x_);
      SymbolicShape reduced = sizes;
      reduced.back() = 1;
      const ValueId wide = r_.emit(CoreOp::cast, {x_}, DType::i32, sizes);
      return r_.emit(CoreOp::reduce_sum, {wide}, DType::i32, reduced,
                     ReductionAttributes{.axes = {static_cast<int64_t>(sizes.size()) - 1}});
    }
    Shape shape = r_.constant(weights_.integers)->shape();
    SymbolicShape out = r_.out_sizes();
    if (conv_->group == 1) shape[0] = 1, out[1] = 1;  // one sum for all channels
    Tensor ones(DType::i8, shape);
    std::ranges::fill(ones.as<int8_t>(), 1);
    return r_.emit(CoreOp::conv, {x_, r_.add_constant(std::move(ones))}, DType::i32, out, *conv_);
  }

  Rewriter& r_;
  ValueId x_;
  Weights weights_;
  std::optional<ConvAttributes> conv_;
};

// ---- operators of integers ----

/// Returns a zero point of 8 bits as that of the same numbers in u8; 0 of an i8 is 128.
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
/// if there is no padding, which consists of it.
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
    return fail("{} with scales or zero points that are no constants is not supported", r.node().op);
  const int64_t zero = only_integer(x_zero);
  IntegerProduct product =
      TRY(product_of(r, {.x = 0, .x_zero = 2, .weights = 3, .weights_zero = 5}, scale, is_conv, zero));
  std::vector<int64_t> bias;
  if (is_conv && r.has_input(8)) {
    const Tensor* given = r.constant(r.stored_in(8));
    if (given == nullptr || given->dtype() != DType::i32)
      return fail("QLinearConv with a bias that is no constant of i32");
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

// ---- operators of floats, on integers that stand for them ----

/// Constants that integers of u8 stand for.
struct QuantizedConstant {
  Tensor integers, scale, zero;
  int64_t axis = 0;

  bool is_for_axis(int64_t wanted) const { return has_one(&scale) || axis == wanted; }
};

/// Reads what a dequantization of constants makes.
std::optional<QuantizedConstant> read_folded(const FoldedNode& folded) {
  const auto constant = [&](size_t i) -> const Tensor* {
    return i < folded.inputs.size() && folded.inputs[i].constant ? &*folded.inputs[i].constant : nullptr;
  };
  if (folded.node.op == "Transpose" && folded.inputs[0].folded != nullptr) {
    std::optional<QuantizedConstant> before = read_folded(*folded.inputs[0].folded);
    if (!before) return std::nullopt;
    std::vector<int64_t> perm(before->integers.shape().size());
    std::iota(perm.rbegin(), perm.rend(), 0);
    perm = folded.node.attributes.get_ints("perm", perm);
    if (perm.size() != before->integers.shape().size()) return std::nullopt;
    before->integers = permuted(before->integers, perm);
    before->axis = std::ranges::find(perm, before->axis) - perm.begin();
    return before;
  }
  const Tensor *integers = constant(0), *scale = constant(1), *zero = constant(2);
  if (folded.node.op != "DequantizeLinear" || integers == nullptr || scale == nullptr ||
      !is_8_bits(integers->dtype()) || scale->dtype() != DType::f32 || scale->shape().size() > 1 ||
      folded.node.attributes.get_int("block_size", 0) != 0)
    return std::nullopt;
  Tensor zeros(integers->dtype(), scale->shape());
  std::memset(zeros.data(), 0, zeros.bytes());
  if (zero != nullptr && zero->bytes() != zeros.bytes()) return std::nullopt;
  if (zero != nullptr) std::memcpy(zeros.data(), zero->data(), zeros.bytes());
  const int64_t axis = folded.node.attributes.get_int("axis", 1),
                rank = static_cast<int64_t>(integers->shape().size());
  return QuantizedConstant{with_other_sign(*integers, DType::u8), *scale, with_other_sign(zeros, DType::u8),
                           axis < 0 ? axis + rank : axis};
}

/// Returns an input that consists of quantized constants.
std::optional<QuantizedConstant> quantized_constant(Rewriter& r, size_t i) {
  if (!r.has_input(i)) return std::nullopt;
  if (const QuantizedValue* value = r.quantized_in(i)) {
    const Tensor* integers = r.constant(value->integers);
    if (integers == nullptr) return std::nullopt;
    return QuantizedConstant{*integers, *r.constant(value->scale), *r.constant(value->zero), value->axis};
  }
  const Value& source = r.source(i);
  return source.constant && source.folded != nullptr ? read_folded(*source.folded) : std::nullopt;
}

/// Returns numbers of one scale that integers stand for; null for others.
const QuantizedValue* quantized_activations(Rewriter& r, size_t i) {
  const QuantizedValue* value = r.has_input(i) ? r.quantized_in(i) : nullptr;
  return value != nullptr && has_one(r.constant(value->scale)) ? value : nullptr;
}

/// Emits a product of quantized numbers by quantized constants; nullopt if it is none of integers.
Result<std::optional<ValueId>> quantized_product(Rewriter& r, bool is_conv, bool swaps_weights,
                                                 float factor) {
  using Made = std::optional<ValueId>;
  const QuantizedValue* x = quantized_activations(r, 0);
  std::optional<QuantizedConstant> w = x != nullptr ? quantized_constant(r, 1) : std::nullopt;
  if (!w || r.constant(x->integers) != nullptr) return Made();
  if (!is_conv && w->integers.shape().size() != 2) return Made();
  if (swaps_weights) {
    w->integers = permuted(w->integers, {1, 0});
    w->axis = 1 - w->axis;
  }
  if (!w->is_for_axis(is_conv ? 0 : 1)) return Made();
  const auto zero = only_integer(*r.constant(x->zero));
  const float scale = r.constant(x->scale)->as<float>()[0];
  Weights weights = TRY(read_weights(r, w->integers, &w->scale, w->zero, is_conv ? 0 : 1));
  std::optional<ConvAttributes> conv;
  if (is_conv) {
    conv = TRY(conv_attributes(r, r.sizes(x->integers), w->integers.shape()));
    conv->pad_value = zero;
  }
  IntegerProduct product(r, x->integers, std::move(weights), std::move(conv));
  return Made(TRY(product.numbers(scale * factor, zero)));
}

Result<bool> conv_of_integers(Rewriter& r) {
  std::optional<ValueId> out = TRY(quantized_product(r, true, false, 1));
  if (!out) return false;
  if (r.has_input(2)) {
    r.dequantize_input(2);
    out = r.emit_elementwise(CoreOp::add, {*out, r.channel_vector(r.in(2), r.rank(*out))});
  }
  r.set_output(0, *out);
  return true;
}

Result<bool> product_of_integers(Rewriter& r) {
  const bool is_gemm = r.node().op == "Gemm";
  if (is_gemm && r.attributes().get_int("transA", 0) != 0) return false;
  const bool swaps = is_gemm && r.attributes().get_int("transB", 0) != 0;
  const float alpha = is_gemm ? r.attributes().get_float("alpha", 1) : 1;
  std::optional<ValueId> out = TRY(quantized_product(r, false, swaps, alpha));
  if (!out) return false;
  const float beta = is_gemm ? r.attributes().get_float("beta", 1) : 0;
  if (is_gemm && r.has_input(2) && beta != 0) {
    r.dequantize_input(2);
    ValueId c = r.in(2);
    TRY(r.require_broadcast(c, r.sizes(*out)));
    if (beta != 1) c = r.emit_elementwise(CoreOp::mul, {c, r.add_scalar(beta, r.dtype(c))});
    out = r.emit_elementwise(CoreOp::add, {*out, c});
  }
  r.set_output(0, *out);
  return true;
}

bool are_equal(const Tensor* a, const Tensor* b) {
  return has_one(a) && has_one(b) && a->dtype() == b->dtype() &&
         std::memcmp(a->data(), b->data(), a->bytes()) == 0;
}

/// Gives the integers themselves where numbers are quantized as they were.
Result<bool> quantize_again(Rewriter& r) {
  const QuantizedValue* x = quantized_activations(r, 0);
  if (x == nullptr || !is_8_bits(r.stored_out_dtype())) return false;
  const Tensor* scale = r.constant(r.stored_in(1));
  const Result<Tensor> zero = zero_point(r, 2, r.stored_out_dtype());
  const double number = scale != nullptr ? read_scalar(*scale).value_or(0) : 0;
  if (!zero || !std::isnormal(number) || !are_equal(scale, r.constant(x->scale)) ||
      !are_equal(&*zero, r.constant(x->zero)))
    return false;
  r.set_unsigned(0, x->integers);
  return true;
}

/// Operators that only move numbers of their first input, so that they may move integers instead. The
/// maximum of a pool is a number that it reads.
constexpr auto moving = std::to_array<std::string_view>(
    {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Expand", "Tile",
     "DepthToSpace", "SpaceToDepth", "Gather", "MaxPool", "Concat"});

/// Checks whether all inputs of a Concat have the same quantization.
bool are_alike(Rewriter& r) {
  const QuantizedValue* first = quantized_activations(r, 0);
  for (size_t i = 1; i < r.node().inputs.size(); ++i) {
    const QuantizedValue* other = quantized_activations(r, i);
    if (other == nullptr || !are_equal(r.constant(first->scale), r.constant(other->scale)) ||
        !are_equal(r.constant(first->zero), r.constant(other->zero)))
      return false;
  }
  return true;
}

/// Transposes constants, whose scales may be for each index of an axis.
bool transpose_constants(Rewriter& r) {
  const std::optional<QuantizedConstant> constant = quantized_constant(r, 0);
  if (!constant || r.quantized_in(0) == nullptr) return false;
  QuantizedValue made = *r.quantized_in(0);
  std::vector<int64_t> perm(constant->integers.shape().size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = r.attributes().get_ints("perm", perm);
  made.integers = r.add_constant(permuted(constant->integers, perm));
  made.axis = std::ranges::find(perm, constant->axis) - perm.begin();
  r.set_quantized(0, made);
  return true;
}

Result<bool> move_integers(Rewriter& r, Rewriter::Rule rule) {
  if (r.node().op == "Transpose" && transpose_constants(r)) return true;
  const bool moves = std::ranges::find(moving, r.node().op) != moving.end();
  if (!moves || quantized_activations(r, 0) == nullptr) return false;
  if (r.node().op == "Concat" && !are_alike(r)) return false;
  TRY(r.move_integers(rule));
  return true;
}

}  // namespace

std::span<const RuleEntry> quantization_rules() { return quantization_rule_list; }

Result<bool> rewrite_on_integers(Rewriter& r, Rewriter::Rule rule) {
  const std::string& op = r.node().op;
  if (op == "Conv") return conv_of_integers(r);
  if (op == "MatMul" || op == "Gemm") return product_of_integers(r);
  if (op == "QuantizeLinear") return quantize_again(r);
  return move_integers(r, rule);
}

}  // namespace intarsia::halide
