// Convolutions and matrix products. A core Conv has (input, weights [M, C/group, taps...]) and explicit
// geometry; a core MatMul has matrices in the last two axes of both inputs. Inputs of 16 bits stay as they
// are, as their products are summed in f32. Biases become an Add, which fuses back.
#include <algorithm>
#include <array>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/core/half_floats.h"
#include "graph/shape_rules.h"

namespace intarsia::halide {
namespace {

Status add_bias(Rewriter& r, ValueId out) {
  if (r.has_input(2)) out = r.emit_elementwise(CoreOp::add, {out, r.channel_vector(r.in(2), r.rank(out))});
  r.set_output(0, out);
  return {};
}

Status conv(Rewriter& r) {
  TRY(require_floats(r));
  const ConvAttributes attributes = TRY(conv_attributes(r, r.sizes(r.stored_in(0)), r.shape(r.stored_in(1))));
  return add_bias(
      r, r.emit(CoreOp::conv, {r.stored_in(0), r.stored_in(1)}, r.out_dtype(), r.out_sizes(), attributes));
}

/// Turns [C, M/group, taps] of a transposed convolution into [M, C/group, flipped taps] of the convolution
/// that it equals.
template <typename T>
Tensor turn_weights(const Tensor& weights, int64_t group) {
  Shape from = weights.shape();
  int64_t channels = from[0] / group, outputs = from[1], taps = element_count(from) / (from[0] * from[1]);
  Shape to = from;
  to[0] = outputs * group, to[1] = channels;
  Tensor turned(weights.dtype(), to);
  auto source = weights.as<T>(), target = turned.as<T>();
  for (int64_t g = 0; g < group; ++g)
    for (int64_t m = 0; m < outputs; ++m)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t k = 0; k < taps; ++k)
          target[static_cast<size_t>(((g * outputs + m) * channels + c) * taps + k)] =
              source[static_cast<size_t>(((g * channels + c) * outputs + m) * taps + taps - 1 - k)];
  return turned;
}

/// Rewrites a transposed convolution as one with input dilation: zeros between the input's elements.
Status conv_transpose(Rewriter& r) {
  const SymbolicShape in = r.sizes(r.stored_in(0)), out = r.out_sizes();
  const Shape weights = r.shape(r.stored_in(1));
  int64_t group = r.attributes().get_int("group", 1);
  const Tensor* constant = r.constant(r.stored_in(1));
  if (!constant || compute_dtype(constant->dtype()) != DType::f32)
    return fail("ConvTranspose is supported only with weights that are a constant of f32, f16 or bf16");
  if (in.size() < 3 || in.size() > 5 || weights.size() != in.size() || group < 1 || weights[0] % group ||
      in[1] != weights[0])
    return fail("ConvTranspose of {} by {} in {} groups", print_shape(in), print_shape(weights), group);
  size_t axes = in.size() - 2;
  std::vector<int64_t> ones(axes, 1), input_dilations = r.attributes().get_ints("strides", ones);
  SymbolicShape pads(2 * axes, 0);
  std::vector<int64_t> dilations = r.attributes().get_ints("dilations", ones);
  std::vector<int64_t> given = r.attributes().get_ints("pads", Shape(2 * axes, 0)),
                       extra = r.attributes().get_ints("output_padding", std::vector<int64_t>(axes, 0));
  std::string mode = r.attributes().get_string("auto_pad", "NOTSET");
  bool sized = r.attributes().has("output_shape") || mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (given.size() != 2 * axes || extra.size() != axes || input_dilations.size() != axes ||
      dilations.size() != axes)
    return fail("ConvTranspose with attributes that do not fit its rank");
  for (size_t i = 0; i < axes; ++i) {
    const int64_t reach = (weights[i + 2] - 1) * dilations[i];
    Dim begin = given[i];
    if (sized) {
      const Dim total =
          larger_of((in[i + 2] - 1) * input_dilations[i] + extra[i] + reach + 1 - out[i + 2], 0);
      begin = mode == "SAME_UPPER" ? floor_div(total, 2) : total - floor_div(total, 2);
    }
    pads[i] = reach - (mode == "VALID" ? Dim(0) : begin);
  }
  const bool is_half = is_half_float(constant->dtype());
  ValueId turned = r.add_constant(is_half ? turn_weights<uint16_t>(*constant, group)
                                          : turn_weights<float>(*constant, group));
  const ConvAttributes attributes{group, ones, dilations, pads, input_dilations};
  return add_bias(r, r.emit(CoreOp::conv, {r.stored_in(0), turned}, r.out_dtype(), out, attributes));
}

ValueId product(Rewriter& r, ValueId a, ValueId b) {
  const SymbolicShape left = r.sizes(a), right = r.sizes(b);
  SymbolicShape out = broadcast_symbolic(SymbolicShape(left.begin(), left.end() - 2),
                                         SymbolicShape(right.begin(), right.end() - 2))
                          .value_or(SymbolicShape{});
  out.push_back(left[left.size() - 2]);
  out.push_back(right.back());
  const DType sums = r.dtype(a) == DType::u8 ? DType::i32 : compute_dtype(r.dtype(a));
  return r.emit(CoreOp::matmul, {a, b}, sums, out, MatMulAttributes{});
}

/// Makes one matrix of a batch of open size that is multiplied by the same matrix, which a kernel then reads
/// once.
ValueId join_rows(Rewriter& r, ValueId a, ValueId b) {
  const SymbolicShape sizes = r.sizes(a);
  const bool is_open =
      std::any_of(sizes.begin(), sizes.end() - 1, [](const Dim& size) { return !size.is_number(); });
  if (r.rank(b) != 2 || r.rank(a) < 3 || !is_open) return a;
  return r.reshape(a, {product_of_dims(sizes, 0, sizes.size() - 1), sizes.back()});
}

Status matmul(Rewriter& r) {
  TRY(require_floats(r));
  r.set_output(0, TRY(matrix_product(r, r.stored_in(0), r.stored_in(1), r.out_sizes())));
  return {};
}

Status gemm(Rewriter& r) {
  TRY(require_floats(r));
  ValueId a = r.stored_in(0), b = r.stored_in(1);
  if (r.rank(a) != 2 || r.rank(b) != 2) return fail("Gemm on ranks {} and {}", r.rank(a), r.rank(b));
  if (r.attributes().get_int("transA", 0)) a = swap_last(r, a);
  if (r.attributes().get_int("transB", 0)) b = swap_last(r, b);
  if (!provably_equal(r.sizes(a)[1], r.sizes(b)[0]))
    return fail("Gemm of {} by {}", print_shape(r.sizes(a)), print_shape(r.sizes(b)));
  ValueId out = product(r, a, b);
  float alpha = r.attributes().get_float("alpha", 1), beta = r.attributes().get_float("beta", 1);
  if (alpha != 1) out = r.emit_elementwise(CoreOp::mul, {out, r.add_scalar(alpha, r.dtype(out))});
  if (r.has_input(2) && beta != 0) {
    ValueId c = r.in(2);
    TRY(r.require_broadcast(c, r.sizes(out)));
    if (beta != 1) c = r.emit_elementwise(CoreOp::mul, {c, r.add_scalar(beta, r.dtype(c))});
    out = r.emit_elementwise(CoreOp::add, {out, c});
  }
  r.set_output(0, out);
  return {};
}

constexpr std::array contraction_rule_list = std::to_array<RuleEntry>({
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"MatMul", matmul},
    {"Gemm", gemm},
});

}  // namespace

std::span<const RuleEntry> contraction_rules() { return contraction_rule_list; }

Result<ConvAttributes> conv_attributes(Rewriter& r, const SymbolicShape& in, const Shape& weights) {
  const int64_t group = r.attributes().get_int("group", 1);
  if (in.size() < 3 || in.size() > 5 || weights.size() != in.size())
    return fail("Conv on rank {} is not supported", in.size());
  if (group < 1 || weights[0] % group || in[1] != weights[1] * group)
    return fail("Conv of {} by {} in {} groups", print_shape(in), print_shape(weights), group);
  WindowGeometry window = TRY(window_geometry(r, {weights.begin() + 2, weights.end()}, in, r.out_sizes()));
  return ConvAttributes{group, window.strides, window.dilations, window.pads,
                        std::vector<int64_t>(in.size() - 2, 1)};
}

ValueId swap_last(Rewriter& r, ValueId matrix) {
  auto rank = static_cast<size_t>(r.rank(matrix));
  std::vector<int64_t> perm(rank);
  for (size_t i = 0; i < rank; ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return r.transpose(matrix, perm);
}

Result<ValueId> matrix_product(Rewriter& r, ValueId a, ValueId b, SymbolicShape out) {
  if (r.rank(a) < 1 || r.rank(b) < 1) return fail("MatMul of a scalar");
  if (r.rank(a) == 1) a = r.reshape(a, {1, r.sizes(a)[0]});
  if (r.rank(b) == 1) b = r.reshape(b, {r.sizes(b)[0], 1});
  if (!provably_equal(r.sizes(a).back(), r.sizes(b)[r.sizes(b).size() - 2]))
    return fail("MatMul of {} by {}", print_shape(r.sizes(a)), print_shape(r.sizes(b)));
  return r.reshape(product(r, join_rows(r, a, b), b), out);
}

Result<ValueId> matrix_product(Rewriter& r, ValueId a, std::vector<ValueId> matrix, int64_t columns,
                               const MatMulAttributes& attributes, SymbolicShape out) {
  if (r.rank(a) < 1) return fail("MatMul of a scalar");
  const SymbolicShape sizes = r.sizes(a);
  const Dim rows = product_of_dims(sizes, 0, sizes.size() - 1);
  matrix.insert(matrix.begin(), r.reshape(a, {rows, sizes.back()}));
  return r.reshape(r.emit(CoreOp::matmul, std::move(matrix), compute_dtype(r.dtype(a)),
                          SymbolicShape{rows, columns}, attributes),
                   std::move(out));
}

}  // namespace intarsia::halide
