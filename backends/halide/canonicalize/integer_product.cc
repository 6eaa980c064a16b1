#include "backends/halide/canonicalize/integer_product.h"

#include <algorithm>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/canonicalize/quantized_constants.h"

namespace intarsia::halide {
namespace {

template <typename T>
Tensor tensor_of(DType dtype, const Shape& shape, const std::vector<T>& numbers) {
  Tensor tensor(dtype, shape);
  std::ranges::copy(numbers, tensor.as<T>().begin());
  return tensor;
}

}  // namespace

ValueId emit_sums(Rewriter& r, ValueId integers, int64_t from_end) {
  const SymbolicShape sizes = r.sizes(integers);
  const int64_t axis = static_cast<int64_t>(sizes.size()) - from_end;
  SymbolicShape reduced = sizes;
  reduced[static_cast<size_t>(axis)] = 1;
  const ValueId wide = r.emit(CoreOp::cast, {integers}, DType::i32, sizes);
  return r.emit(CoreOp::reduce_sum, {wide}, DType::i32, reduced, ReductionAttributes{.axes = {axis}});
}

Result<Weights> read_weights(Rewriter& r, const Tensor& integers, const Tensor* scale, const Tensor& zero,
                             int64_t axis) {
  const Tensor as_signed = with_other_sign(integers, DType::i8);
  Weights weights;
  weights.sums = sums_along(as_signed, static_cast<size_t>(axis));
  if (element_count(integers.shape()) == 0) return fail("{}: weights are empty", r.node().op);
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

Result<ValueId> IntegerProduct::sums() {
  const ValueId sums =
      conv_ ? r_.emit(CoreOp::conv, {x_, weights_.integers}, DType::i32, r_.out_sizes(), *conv_)
            : TRY(matrix_product(r_, x_, weights_.integers, r_.out_sizes()));
  if (weights_.is_symmetric()) return sums;
  const ValueId zeros = channel_constant(weights_.zeros);
  return r_.emit_elementwise(CoreOp::sub,
                             {sums, r_.emit(CoreOp::mul, {sums_of_x(), zeros}, DType::i32, r_.sizes(sums))});
}

std::vector<int64_t> IntegerProduct::sums_of_weights() const {
  std::vector<int64_t> sums = weights_.sums;
  for (size_t c = 0; c < sums.size(); ++c) sums[c] -= weights_.depth * weights_.zeros[c];
  return sums;
}

Result<ValueId> IntegerProduct::numbers(float scale, int64_t zero, const std::vector<int64_t>& more) {
  std::vector<int64_t> zeros = sums_of_weights();
  for (size_t c = 0; c < zeros.size(); ++c) zeros[c] = zero * zeros[c] - (more.empty() ? 0 : more[c]);
  std::vector<float> scales = weights_.scales;
  for (float& of_weights : scales) of_weights *= scale;
  const ValueId made = TRY(sums());
  const ValueId factors = r_.add_constant(tensor_of(DType::f32, channel_shape(), scales));
  return r_.emit(CoreOp::dequantize, {made, factors, channel_constant(zeros)}, DType::f32, r_.sizes(made));
}

ValueId IntegerProduct::channel_constant(const std::vector<int64_t>& numbers) {
  std::vector<int32_t> narrow;
  for (int64_t number : numbers) narrow.push_back(static_cast<int32_t>(number));
  return r_.add_constant(tensor_of(DType::i32, channel_shape(), narrow));
}

Shape IntegerProduct::channel_shape() const {
  Shape shape(conv_ ? r_.out_sizes().size() - 1 : 1, 1);
  shape[0] = weights_.channels();
  return shape;
}

ValueId IntegerProduct::sums_of_x() {
  if (!conv_) return emit_sums(r_, x_, 1);
  Shape shape = r_.constant(weights_.integers)->shape();
  SymbolicShape out = r_.out_sizes();
  if (conv_->group == 1) shape[0] = 1, out[1] = 1;  // one sum for all channels
  Tensor ones(DType::i8, shape);
  std::ranges::fill(ones.as<int8_t>(), 1);
  return r_.emit(CoreOp::conv, {x_, r_.add_constant(std::move(ones))}, DType::i32, out, *conv_);
}

}  // namespace intarsia::halide
