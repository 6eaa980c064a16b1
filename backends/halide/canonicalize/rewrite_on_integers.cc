// Operators of floats on numbers that integers of 8 bits stand for: what can be computed with the integers is
// (rewrite_on_integers).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/canonicalize/few_bits.h"
#include "backends/halide/canonicalize/integer_product.h"
#include "backends/halide/canonicalize/quantized_constants.h"
#include "backends/halide/core/half_floats.h"
#include "backends/halide/core/permute_tensor.h"

namespace intarsia::halide {
namespace {

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
    if (integers == nullptr || value->has_few_bits) return std::nullopt;
    return QuantizedConstant{*integers, *r.constant(value->scale), *r.constant(value->zero), value->axis};
  }
  const Value& source = r.source(i);
  return source.constant && source.folded != nullptr ? read_folded(*source.folded) : std::nullopt;
}

/// Returns numbers of one scale that integers stand for; null for others.
const QuantizedValue* quantized_activations(Rewriter& r, size_t i) {
  const QuantizedValue* value = r.has_input(i) ? r.quantized_in(i) : nullptr;
  return value != nullptr && !value->has_few_bits && has_one(r.constant(value->scale)) ? value : nullptr;
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

/// Second factor of a product of matrices: numbers of one scale.
struct SecondFactor {
  ValueId integers;  // i8
  float scale;
  int64_t zero;
};

/// Returns a factor of matrices that are computed, or of a batch of constant ones.
std::optional<SecondFactor> second_factor(Rewriter& r) {
  const QuantizedValue* value = quantized_activations(r, 1);
  if (value != nullptr && r.constant(value->integers) == nullptr) {
    if (r.rank(value->integers) < 2) return std::nullopt;
    return SecondFactor{r.as_signed(value->integers), r.constant(value->scale)->as<float>()[0],
                        only_integer(*r.constant(value->zero)) - 128};
  }
  const std::optional<QuantizedConstant> constant = quantized_constant(r, 1);
  if (!constant || constant->integers.shape().size() < 3 || !has_one(&constant->scale) ||
      !has_one(&constant->zero))
    return std::nullopt;
  return SecondFactor{r.add_constant(with_other_sign(constant->integers, DType::i8)),
                      constant->scale.as<float>()[0], only_integer(constant->zero) - 128};
}

/// Returns the sums of the columns of matrices of i8.
ValueId column_sums(Rewriter& r, ValueId matrices) {
  const Tensor* constant = r.constant(matrices);
  return constant == nullptr ? emit_sums(r, matrices, 2) : r.add_constant(sums_of_columns(*constant));
}

/// Emits a product of quantized numbers by matrices of one scale:
///   sum (a - za) (b - zb)  =  sum a b  -  za sum b  -  zb sum a  +  depth za zb
/// where b is the i8 that is 128 less. nullopt if it is none of integers, or its depth is open.
Result<std::optional<ValueId>> product_of_one_scale(Rewriter& r) {
  using Made = std::optional<ValueId>;
  const QuantizedValue* a = quantized_activations(r, 0);
  if (a == nullptr || r.rank(a->integers) < 2 || r.constant(a->integers) != nullptr) return Made();
  const Dim depth = r.sizes(a->integers).back();
  const std::optional<SecondFactor> b = depth.is_number() ? second_factor(r) : std::nullopt;
  if (!b) return Made();
  const int64_t a_zero = only_integer(*r.constant(a->zero)), b_zero = b->zero;
  const float scale = r.constant(a->scale)->as<float>()[0] * b->scale;
  ValueId sums = TRY(matrix_product(r, a->integers, b->integers, r.out_sizes()));
  const auto times = [&](ValueId value, int64_t number) {
    return r.emit_elementwise(CoreOp::mul, {value, r.add_scalar(static_cast<double>(number), DType::i32)});
  };
  if (b_zero != 0) {
    const ValueId of_a = times(emit_sums(r, a->integers, 1), b_zero);
    sums = r.emit(CoreOp::sub, {sums, of_a}, DType::i32, r.out_sizes());
  }
  ValueId zero = r.add_scalar(static_cast<double>(-depth.number() * a_zero * b_zero), DType::i32);
  if (a_zero != 0) zero = r.emit_elementwise(CoreOp::add, {times(column_sums(r, b->integers), a_zero), zero});
  return Made(
      r.emit(CoreOp::dequantize, {sums, r.add_scalar(scale, DType::f32), zero}, DType::f32, r.out_sizes()));
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
  if (!out && !is_gemm) out = TRY(product_of_one_scale(r));
  if (!out) {
    out = TRY(product_by_few_bits(r, swaps));
    if (out && alpha != 1) out = r.emit_elementwise(CoreOp::mul, {*out, r.add_scalar(alpha, r.dtype(*out))});
  }
  if (!out) return false;
  const float beta = is_gemm ? r.attributes().get_float("beta", 1) : 0;
  if (is_gemm && r.has_input(2) && beta != 0) {
    r.dequantize_input(2);
    ValueId c = r.stored_in(2);
    if (is_half_float(r.dtype(c))) c = r.converted(c, DType::f32);
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
  if (const QuantizedValue* value = r.quantized_in(0); value != nullptr && value->has_few_bits) {
    const bool swaps =
        r.rank(value->integers) == 2 && r.attributes().get_ints("perm", {1, 0}) == std::vector<int64_t>{1, 0};
    QuantizedValue swapped = *value;
    swapped.is_swapped = !swapped.is_swapped;
    if (swaps) r.set_quantized(0, swapped);
    return swaps;
  }
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

Result<bool> rewrite_on_integers(Rewriter& r, Rewriter::Rule rule) {
  const std::string& op = r.node().op;
  if (op == "Conv") return conv_of_integers(r);
  if (op == "MatMul" || op == "Gemm") return product_of_integers(r);
  if (op == "QuantizeLinear") return quantize_again(r);
  return move_integers(r, rule);
}

}  // namespace intarsia::halide
