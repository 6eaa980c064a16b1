#include "backends/halide/canonicalize/few_bits.h"

#include <algorithm>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/canonicalize/integer_product.h"
#include "backends/halide/canonicalize/quantized_constants.h"
#include "backends/halide/core/half_floats.h"

namespace intarsia::halide {
namespace {

bool is_of_4_bits(DType dtype) { return dtype == DType::u4 || dtype == DType::i4; }

/// Constants that integers stand for; an omitted zero point is 0.
struct QuantizedTensor {
  Tensor integers, scale;
  std::optional<Tensor> zero;
  int64_t axis = 0, block = 0;
  bool is_swapped = false;

  Shape shape() const { return integers.shape(); }
  bool has_one_scale() const { return has_one(&scale); }
};

/// Returns the shape that scales must have.
Shape scale_shape(const QuantizedTensor& t) {
  const auto axis = static_cast<size_t>(t.axis);
  if (t.block == 0) return {t.shape()[axis]};
  Shape shape = t.shape();
  shape[axis] = (shape[axis] + t.block - 1) / t.block;
  return shape;
}

/// Checks types and shapes of constants.
Status check_quantized(const QuantizedTensor& t) {
  const DType dtype = t.integers.dtype(), of_scale = t.scale.dtype();
  if (!is_8_bits(dtype) && !is_of_4_bits(dtype))
    return fail("DequantizeLinear of {} is not supported", dtype_name(dtype));
  if (of_scale != DType::f32 && !is_half_float(of_scale))
    return fail("DequantizeLinear with a scale of {} is not supported", dtype_name(of_scale));
  const bool has_axis = t.axis >= 0 && t.axis < static_cast<int64_t>(t.shape().size());
  const bool fits =
      (t.block == 0 && t.has_one_scale()) || (t.block >= 0 && has_axis && t.scale.shape() == scale_shape(t));
  if (!fits)
    return fail("DequantizeLinear of {} with scales {} in blocks of {}", print_shape(t.shape()),
                print_shape(t.scale.shape()), t.block);
  if (t.zero &&
      (t.zero->dtype() != dtype || element_count(t.zero->shape()) != element_count(t.scale.shape())))
    return fail("DequantizeLinear of {} with zero points of {}{}", dtype_name(dtype),
                dtype_name(t.zero->dtype()), print_shape(t.zero->shape()));
  return {};
}

/// Returns an axis, counted from the first.
int64_t axis_of_scales(const Attributes& attributes, const Tensor& integers) {
  const int64_t axis = attributes.get_int("axis", 1);
  return axis < 0 ? axis + static_cast<int64_t>(integers.shape().size()) : axis;
}

/// Reads what a node that was folded made of constants.
std::optional<QuantizedTensor> read_folded_matrix(const FoldedNode& folded) {
  const auto constant = [&](size_t i) {
    return i < folded.inputs.size() ? folded.inputs[i].constant : std::optional<Tensor>();
  };
  const Attributes& attributes = folded.node.attributes;
  if (folded.node.op == "Transpose" && folded.inputs[0].folded != nullptr) {
    std::optional<QuantizedTensor> made = read_folded_matrix(*folded.inputs[0].folded);
    const std::vector<int64_t> swap{1, 0};
    if (!made || made->shape().size() != 2 || attributes.get_ints("perm", swap) != swap) return std::nullopt;
    made->is_swapped = !made->is_swapped;
    return made;
  }
  const std::optional<Tensor> integers = constant(0), scale = constant(1);
  if (folded.node.op != "DequantizeLinear" || !integers || !scale) return std::nullopt;
  return QuantizedTensor{*integers, *scale, constant(2), axis_of_scales(attributes, *integers),
                         attributes.get_int("block_size", 0)};
}

/// Returns an input of the node that consists of quantized constants.
std::optional<QuantizedTensor> quantized_tensor(Rewriter& r, size_t i) {
  if (!r.has_input(i)) return std::nullopt;
  const QuantizedValue* value = r.quantized_in(i);
  if (value == nullptr) {
    const Value& source = r.source(i);
    return source.constant && source.folded != nullptr ? read_folded_matrix(*source.folded) : std::nullopt;
  }
  if (r.constant(value->integers) == nullptr) return std::nullopt;
  return QuantizedTensor{*r.constant(value->integers),
                         *r.constant(value->scale),
                         value->zero == no_value ? std::nullopt : std::optional(*r.constant(value->zero)),
                         value->axis,
                         value->block,
                         value->is_swapped};
}

/// Returns a matrix with rows and columns exchanged.
template <typename T>
Tensor swapped(const Tensor& matrix) {
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor made(matrix.dtype(), {columns, rows});
  const std::span<T> from = matrix.as<T>(), to = made.as<T>();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      to[static_cast<size_t>(column * rows + row)] = from[static_cast<size_t>(row * columns + column)];
  return made;
}

Tensor swapped(const Tensor& matrix) {
  const int bits = dtype_bits(matrix.dtype());
  return bits == 8    ? swapped<uint8_t>(matrix)
         : bits == 16 ? swapped<uint16_t>(matrix)
                      : swapped<float>(matrix);
}

/// Returns the same elements in another shape.
Tensor reshaped(const Tensor& tensor, const Shape& shape, DType dtype) {
  return Tensor(TensorView{tensor.data(), dtype, shape}, tensor.owner());
}

/// Matrix of constants as a kernel reads it: the depth first.
class FewBits {
 public:
  FewBits(QuantizedTensor from, bool swaps)
      : from_(std::move(from)), is_across_(from_.is_swapped != swaps), depth_axis_(is_across_ ? 1 : 0) {}

  int64_t depth() const { return from_.shape()[depth_axis_]; }
  int64_t columns() const { return from_.shape()[1 - depth_axis_]; }
  int64_t bits() const { return dtype_bits(from_.integers.dtype()); }

  /// Returns the block along the depth, which has whole words; nullopt where scales are not for blocks along
  /// it.
  std::optional<int64_t> block() const {
    const bool is_along_depth = from_.axis == static_cast<int64_t>(depth_axis_);
    const bool is_whole = from_.has_one_scale() || (from_.block == 0 && !is_along_depth) ||
                          (is_along_depth && from_.block >= depth());
    if (is_whole) return words(depth()) * in_word();
    const bool has_words = from_.block % in_word() == 0;
    return is_along_depth && from_.block > 0 && has_words ? std::optional(from_.block) : std::nullopt;
  }

  /// Returns the integers as u32, each of which has neighbors along the depth.
  ValueId integers(Rewriter& r) const {
    const auto address = reinterpret_cast<uintptr_t>(from_.integers.data());
    if (!is_across_ || depth() % in_word() != 0 || address % sizeof(uint32_t) != 0)
      return r.add_constant(joined());
    const DType dtype = from_.integers.dtype();
    Tensor words = reshaped(from_.integers, {columns(), depth() / in_word()}, DType::u32);
    if (dtype == DType::i4 || dtype == DType::i8) {
      words = Tensor(ConstTensorView(words.view()));
      for (uint32_t& word : words.as<uint32_t>()) word ^= dtype == DType::i4 ? 0x88888888U : 0x80808080U;
    }
    return swap_last(r, r.add_constant(std::move(words)));
  }

  ValueId scales(Rewriter& r) const { return r.add_constant(by_block(from_.scale)); }

  /// Returns the zero points as u8; one if they are all equal.
  ValueId zeros(Rewriter& r) const {
    const DType dtype = from_.integers.dtype();
    const bool is_signed = dtype == DType::i8 || dtype == DType::i4;
    Tensor one(DType::u8, {1, 1});
    one.as<uint8_t>()[0] = static_cast<uint8_t>(is_signed ? 1 << (bits() - 1) : 0);
    if (!from_.zero) return r.add_constant(std::move(one));
    const Tensor bytes = as_bytes(*from_.zero);
    const std::span<uint8_t> all = bytes.as<uint8_t>();
    one.as<uint8_t>()[0] = all[0];
    const bool are_equal = std::ranges::all_of(all, [&](uint8_t zero) { return zero == all[0]; });
    return r.add_constant(are_equal ? std::move(one) : by_block(bytes));
  }

 private:
  int64_t in_word() const { return 32 / bits(); }
  int64_t words(int64_t integers) const { return (integers + in_word() - 1) / in_word(); }

  /// Returns scales or zero points as [blocks, columns]; either may be 1.
  Tensor by_block(const Tensor& tensor) const {
    if (from_.has_one_scale()) return reshaped(tensor, {1, 1}, tensor.dtype());
    if (from_.block == 0) return reshaped(tensor, {1, columns()}, tensor.dtype());
    const Tensor blocks = reshaped(tensor, from_.scale.shape(), tensor.dtype());
    return is_across_ ? swapped(blocks) : blocks;
  }

  /// Puts neighbors along the depth in words.
  Tensor joined() const {
    const Tensor bytes = is_across_ ? swapped(as_bytes(from_.integers)) : as_bytes(from_.integers);
    const auto all = static_cast<size_t>(columns()), count = static_cast<size_t>(in_word());
    Tensor made(DType::u32, {words(depth()), columns()});
    const std::span<uint8_t> from = bytes.as<uint8_t>();
    const std::span<uint32_t> to = made.as<uint32_t>();
    for (size_t row = 0, i = 0; i < from.size(); ++row)
      for (size_t column = 0; column < all; ++column, ++i)
        to[row / count * all + column] |= uint32_t{from[i]} << (row % count * static_cast<size_t>(bits()));
    return made;
  }

  QuantizedTensor from_;
  bool is_across_;  // whether the depth is the last axis in the model
  size_t depth_axis_;
};

}  // namespace

Result<bool> dequantize_few_bits(Rewriter& r) {
  const ValueId x = r.stored_in(0), scale = r.stored_in(1), zero = r.has_input(2) ? r.stored_in(2) : no_value;
  const int64_t block = r.attributes().get_int("block_size", 0);
  const bool are_constants = r.constant(x) != nullptr && r.constant(scale) != nullptr &&
                             (zero == no_value || r.constant(zero) != nullptr);
  const bool is_4_bits = is_of_4_bits(r.dtype(x));
  if (is_4_bits && !are_constants)
    return fail("DequantizeLinear of {} that is not a constant is not supported", dtype_name(r.dtype(x)));
  const bool has_scales_of_few = block != 0 || is_half_float(r.dtype(scale));
  if (!is_4_bits && (!is_8_bits(r.dtype(x)) || !are_constants || !has_scales_of_few)) return false;
  if (r.stored_out_dtype() != r.dtype(scale))
    return fail("DequantizeLinear to {} is not supported", dtype_name(r.stored_out_dtype()));
  const QuantizedTensor tensor{*r.constant(x), *r.constant(scale),
                               zero == no_value ? std::nullopt : std::optional(*r.constant(zero)),
                               axis_of_scales(r.attributes(), *r.constant(x)), block};
  TRY(check_quantized(tensor));
  r.set_quantized(0, {x, scale, zero, tensor.axis, true, block});
  return true;
}

Result<std::optional<ValueId>> product_by_few_bits(Rewriter& r, bool swaps) {
  using Made = std::optional<ValueId>;
  std::optional<QuantizedTensor> weights = quantized_tensor(r, 1);
  if (!weights || weights->shape().size() != 2 || !check_quantized(*weights)) return Made();
  const FewBits matrix(*std::move(weights), swaps);
  const std::optional<int64_t> block = matrix.block();
  if (!block) return Made();
  r.dequantize_input(0);
  const ValueId x = r.stored_in(0);
  if (r.rank(x) < 1 || r.sizes(x).back() != matrix.depth() || r.dtype(x) != r.source(1).type.dtype)
    return Made();
  return Made(TRY(matrix_product(r, x, {matrix.integers(r), matrix.scales(r), matrix.zeros(r)},
                                 matrix.columns(), {.block = *block, .bits = matrix.bits()}, r.out_sizes())));
}

}  // namespace intarsia::halide
