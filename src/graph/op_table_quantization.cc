#include <algorithm>
#include <cmath>

#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

/// Checks scales that are known: positive numbers; or 0, if that is allowed.
Status check_scales(const ShapeContext& context, size_t input, bool allows_zero) {
  const Tensor* scales = context.has_input(input) ? context.constant(input) : nullptr;
  if (scales == nullptr || scales->dtype() != DType::f32) return {};
  for (const float scale : scales->as<float>()) {
    if (std::isfinite(scale) && (scale > 0 || (allows_zero && scale == 0))) continue;
    return fail("a scale is {} (input {}), want a positive number", scale, input);
  }
  return {};
}

/// Checks that there is a scale for each block along the axis.
Status check_blocks(const ShapeContext& context, const SymbolicShape& x, const SymbolicShape& scales,
                    int64_t block) {
  if (block < 0) return fail("attribute block_size is {}", block);
  const int64_t axis = TRY(normalize_axis(context.attributes().get_int("axis", 1), x.size()));
  if (scales.size() != x.size())
    return fail("scales of blocks have shape {}, x {}", print_shape(scales), print_shape(x));
  for (size_t i = 0; i < x.size(); ++i) {
    const Dim want = static_cast<int64_t>(i) == axis ? ceil_div(x[i], block) : x[i];
    TRY(require_same_dim(want, scales[i], "an axis of the scales of blocks"));
  }
  return {};
}

/// Checks that a scale per index of an axis has an axis, and that a zero point has a shape that fits.
Status check_granularity(const ShapeContext& context, size_t scale, size_t zero_point) {
  const SymbolicShape *x = context.shape(0), *scales = context.shape(scale);
  const SymbolicShape* zeros = context.has_input(zero_point) ? context.shape(zero_point) : nullptr;
  const auto count = [](const SymbolicShape& shape) { return product_of_dims(shape, 0, shape.size()); };
  if (scales != nullptr && zeros != nullptr && count(*scales).is_number() && count(*zeros).is_number() &&
      count(*scales) != count(*zeros))
    return fail("scales have shape {}, zero points {}", print_shape(*scales), print_shape(*zeros));
  const int64_t block = context.attributes().get_int("block_size", 0);
  if (x != nullptr && scales != nullptr && block != 0) return check_blocks(context, *x, *scales, block);
  if (x == nullptr || scales == nullptr || scales->size() != 1 || (*scales)[0] == 1) return {};
  const int64_t axis = TRY(normalize_axis(context.attributes().get_int("axis", 1), x->size()));
  return require_same_dim((*x)[static_cast<size_t>(axis)], (*scales)[0], "the axis of the scales");
}

Status infer_quantize(ShapeContext& context) {
  TRY(check_scales(context, 1, false));
  TRY(check_granularity(context, 1, 2));
  const DType given = TRY(dtype_attribute(context, "output_dtype", DType::undefined));
  const DType otherwise = given == DType::undefined ? DType::u8 : given;
  context.set_output(0, context.has_input(2) ? context.dtype(2) : otherwise, input_shape(context, 0));
  return {};
}

Status infer_dequantize(ShapeContext& context) {
  if (context.has_input(2) && context.dtype(2) != context.dtype(0) && context.dtype(0) != DType::undefined)
    return fail("it reads {}, its zero point is {}", dtype_name(context.dtype(0)),
                dtype_name(context.dtype(2)));
  TRY(check_scales(context, 1, true));
  TRY(check_granularity(context, 1, 2));
  const DType given = TRY(dtype_attribute(context, "output_dtype", DType::undefined));
  context.set_output(0, given == DType::undefined ? context.dtype(1) : given, input_shape(context, 0));
  return {};
}

Status infer_dynamic_quantize(ShapeContext& context) {
  context.set_output(0, DType::u8, input_shape(context, 0));
  context.set_output(1, DType::f32, SymbolicShape{});
  context.set_output(2, DType::u8, SymbolicShape{});
  return {};
}

// Returns the shape of numpy's matmul of inputs a and b.
Result<OptionalShape> product_shape(const ShapeContext& context, size_t a_input, size_t b_input) {
  TRY(require_rank(context, a_input, 1));
  TRY(require_rank(context, b_input, 1));
  OptionalShape a = input_shape(context, a_input);
  OptionalShape b = input_shape(context, b_input);
  if (!a || !b) return OptionalShape();
  const bool a_vector = a->size() == 1;
  const bool b_vector = b->size() == 1;
  if (a_vector) a->insert(a->begin(), Dim(1));
  if (b_vector) b->push_back(Dim(1));
  TRY(require_same_dim(a->back(), (*b)[b->size() - 2], "the axis of the sum"));
  SymbolicShape result = TRY(
      broadcast_symbolic(SymbolicShape(a->begin(), a->end() - 2), SymbolicShape(b->begin(), b->end() - 2)));
  if (!a_vector) result.push_back((*a)[a->size() - 2]);
  if (!b_vector) result.push_back(b->back());
  return OptionalShape(std::move(result));
}

Status infer_mat_mul_integer(ShapeContext& context) {
  context.set_output(0, DType::i32, TRY(product_shape(context, 0, 1)));
  return {};
}

/// Checks the scales of QLinearConv and QLinearMatMul.
Status check_qlinear(const ShapeContext& context) {
  TRY(check_scales(context, 1, true));
  TRY(check_scales(context, 4, true));
  return check_scales(context, 6, false);
}

Status infer_qlinear_mat_mul(ShapeContext& context) {
  TRY(check_qlinear(context));
  context.set_output(0, context.dtype(7), TRY(product_shape(context, 0, 3)));
  return {};
}

Result<std::vector<int64_t>> read_settings(const ShapeContext& context, std::string_view name, size_t count,
                                           int64_t otherwise, int64_t least) {
  constexpr int64_t largest_setting = int64_t{1} << 31;
  std::vector<int64_t> values = context.attributes().get_ints(name);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count)
    return fail("attribute {} has {} elements, want {}", name, values.size(), count);
  for (int64_t value : values) {
    if (value < least || value > largest_setting) return fail("attribute {} holds {}", name, value);
  }
  return values;
}

// Returns the size of one axis after a convolution; the number of padded elements is `total`.
Dim convolved_size(const Dim& in, const Dim& kernel, int64_t stride, int64_t dilation, int64_t total,
                   bool same) {
  constexpr int64_t largest = int64_t{1} << 48;
  if (!in.is_number() || in.number() > largest) return stride == 1 && same ? in : Dim::unknown();
  if (same) return Dim((in.number() + stride - 1) / stride);
  int64_t extent = 0;
  if (!kernel.is_number() || kernel.number() < 1) return Dim::unknown();
  if (__builtin_mul_overflow(kernel.number() - 1, dilation, &extent) || extent > largest)
    return Dim::unknown();
  const int64_t room = in.number() + total - extent - 1;
  return Dim(room < 0 ? 0 : room / stride + 1);
}

Result<OptionalShape> convolution_shape(const ShapeContext& context, size_t x_input, size_t w_input) {
  TRY(require_rank(context, x_input, 3));
  TRY(require_rank(context, w_input, 3));
  const SymbolicShape* x = context.shape(x_input);
  const SymbolicShape* w = context.shape(w_input);
  if (x == nullptr || w == nullptr) return OptionalShape();
  if (x->size() != w->size()) return fail("x has shape {}, w {}", print_shape(*x), print_shape(*w));
  const size_t rank = x->size() - 2;
  const std::vector<int64_t> strides = TRY(read_settings(context, "strides", rank, 1, 1));
  const std::vector<int64_t> dilations = TRY(read_settings(context, "dilations", rank, 1, 1));
  std::vector<int64_t> pads = TRY(read_settings(context, "pads", 2 * rank, 0, 0));
  const std::string mode = context.attributes().get_string("auto_pad", "NOTSET");
  if (mode == "VALID") std::ranges::fill(pads, 0);
  SymbolicShape result = {x->front(), w->front()};
  for (size_t i = 0; i < rank; ++i) {
    result.push_back(convolved_size((*x)[i + 2], (*w)[i + 2], strides[i], dilations[i],
                                    pads[i] + pads[rank + i], mode.starts_with("SAME")));
  }
  return OptionalShape(std::move(result));
}

Status infer_conv_integer(ShapeContext& context) {
  context.set_output(0, DType::i32, TRY(convolution_shape(context, 0, 1)));
  return {};
}

Status infer_qlinear_conv(ShapeContext& context) {
  TRY(check_qlinear(context));
  context.set_output(0, context.dtype(7), TRY(convolution_shape(context, 0, 3)));
  return {};
}

}  // namespace

std::span<const OpInfo> quantization_ops() {
  static const OpInfo quantization_rows[] = {
      work({"ConvInteger", "", 2, 4, 1, 1, infer_conv_integer}),
      {"DequantizeLinear", "", 2, 3, 1, 1, infer_dequantize},
      {"DynamicQuantizeLinear", "", 1, 1, 3, 3, infer_dynamic_quantize},
      work({"MatMulInteger", "", 2, 4, 1, 1, infer_mat_mul_integer}),
      work({"QLinearConv", "", 8, 9, 1, 1, infer_qlinear_conv}),
      work({"QLinearMatMul", "", 8, 8, 1, 1, infer_qlinear_mat_mul}),
      {"QuantizeLinear", "", 2, 3, 1, 1, infer_quantize},
  };
  return quantization_rows;
}

}  // namespace intarsia
