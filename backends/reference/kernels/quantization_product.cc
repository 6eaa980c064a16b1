// MatMulInteger and QLinearMatMul. Products of 8-bit numbers are summed in double, which is exact.
#include "backends/reference/kernels/quantization.h"

namespace intarsia::reference {
namespace {

// Shapes of numpy's matmul: vectors become matrices for the product, leading axes broadcast.
struct ProductShape {
  Shape a;       // batch x m x k
  Shape b;       // batch x k x n
  Shape full;    // batch x m x n
  Shape output;  // `full` without the axes that vectors lack
};

Result<ProductShape> product_shape(const Shape& a, const Shape& b) {
  if (a.empty() || b.empty()) return fail("a factor is a scalar");
  ProductShape shape{a, b, {}, {}};
  if (a.size() == 1) shape.a = {1, a[0]};
  if (b.size() == 1) shape.b = {b[0], 1};
  if (shape.a.back() != shape.b[shape.b.size() - 2]) {
    return fail("shapes {} and {} do not multiply", print_shape(a), print_shape(b));
  }
  shape.full = TRY(
      broadcast_shapes(Shape(shape.a.begin(), shape.a.end() - 2), Shape(shape.b.begin(), shape.b.end() - 2)));
  shape.output = shape.full;
  shape.full.insert(shape.full.end(), {shape.a[shape.a.size() - 2], shape.b.back()});
  if (a.size() > 1) shape.output.push_back(shape.a[shape.a.size() - 2]);
  if (b.size() > 1) shape.output.push_back(shape.b.back());
  return shape;
}

// Returns the strides, in the product's shape, of a scale or zero point of one factor: a scalar, a vector
// over the rows of a or the columns of b, or a tensor that broadcasts to the product's shape.
Result<Shape> parameter_strides(const ConstTensorView& parameter, const ProductShape& shape, bool of_rows) {
  Shape seen = parameter.shape;
  if (of_rows && seen.size() == 1) seen.push_back(1);
  if (TRY(broadcast_shapes(seen, shape.full)) != shape.full) {
    return fail("scale or zero point of shape {} does not fit {}", print_shape(parameter.shape),
                print_shape(shape.full));
  }
  return broadcast_strides(seen, shape.full);
}

// Optional parameter, for every element of the product.
struct Parameter {
  std::optional<ReadAs<double>> values;
  Shape strides;
  double at(int64_t offset) const { return values ? (*values)[offset] : 0.0; }
};

Result<Parameter> read_parameter(const KernelContext& context, size_t input, const ProductShape& shape,
                                 bool of_rows) {
  Parameter parameter;
  parameter.strides = Shape(shape.full.size(), 0);
  if (!context.has_input(input)) return parameter;
  TRY(require_number(context, input));
  parameter.strides = TRY(parameter_strides(context.input(input), shape, of_rows));
  parameter.values.emplace(context.input(input));
  return parameter;
}

// Returns the sum over k of (a - a_zero) * (b - b_zero) for every element of the product.
std::vector<double> multiply(const ReadAs<double>& a, const ReadAs<double>& b, const ProductShape& shape,
                             const Parameter& a_zero, const Parameter& b_zero) {
  std::vector<double> product(static_cast<size_t>(element_count(shape.full)));
  Shape a_strides = row_major_strides(shape.a);
  Shape b_strides = row_major_strides(shape.b);
  const int64_t depth = shape.a.back();
  const int64_t b_step = b_strides[b_strides.size() - 2];
  // The factors' summed axis stays at 0 while walking over the product.
  Shape a_seen = shape.a;
  Shape b_seen = shape.b;
  a_seen.back() = 1;
  b_seen[b_seen.size() - 2] = 1;
  auto walk = [&](const Shape& seen, const Shape& strides) {
    Shape result(shape.full.size(), 0);
    const size_t first = result.size() - seen.size();
    for (size_t i = 0; i < seen.size(); ++i) result[first + i] = seen[i] == 1 ? 0 : strides[i];
    return result;
  };
  const std::array all{walk(a_seen, a_strides), walk(b_seen, b_strides), a_zero.strides, b_zero.strides};
  for_each_offset(shape.full, all, [&](int64_t i, const auto& offset) {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      sum += (a[offset[0] + k] - a_zero.at(offset[2])) * (b[offset[1] + k * b_step] - b_zero.at(offset[3]));
    }
    product[static_cast<size_t>(i)] = sum;
  });
  return product;
}

Status run_mat_mul_integer(KernelContext& context) {
  TRY(require_number(context, 0));
  TRY(require_number(context, 1));
  const ProductShape shape = TRY(product_shape(context.input(0).shape, context.input(1).shape));
  const Parameter a_zero = TRY(read_parameter(context, 2, shape, true));
  const Parameter b_zero = TRY(read_parameter(context, 3, shape, false));
  TensorView y = TRY(context.output(0, DType::i32, shape.output));
  const std::vector<double> product =
      multiply(ReadAs<double>(context.input(0)), ReadAs<double>(context.input(1)), shape, a_zero, b_zero);
  write_numbers(product.data(), y);
  return {};
}

Status run_qlinear_mat_mul(KernelContext& context) {
  for (size_t i = 0; i < 8; ++i) TRY(require_number(context, i));
  const ProductShape shape = TRY(product_shape(context.input(0).shape, context.input(3).shape));
  const Parameter a_scale = TRY(read_parameter(context, 1, shape, true));
  const Parameter a_zero = TRY(read_parameter(context, 2, shape, true));
  const Parameter b_scale = TRY(read_parameter(context, 4, shape, false));
  const Parameter b_zero = TRY(read_parameter(context, 5, shape, false));
  const Parameter y_scale = TRY(read_parameter(context, 6, shape, true));
  const Parameter y_zero = TRY(read_parameter(context, 7, shape, true));
  const DType dtype = context.input(7).dtype;
  TRY(require_quantized(dtype));
  TensorView y = TRY(context.output(0, dtype, shape.output));
  const std::vector<double> product =
      multiply(ReadAs<double>(context.input(0)), ReadAs<double>(context.input(3)), shape, a_zero, b_zero);
  const std::array strides{a_scale.strides, b_scale.strides, y_scale.strides, y_zero.strides};
  for_each_offset(shape.full, strides, [&](int64_t i, const auto& offset) {
    const double scale = a_scale.at(offset[0]) * b_scale.at(offset[1]) / y_scale.at(offset[2]);
    store_quantized(y, i, quantize(product[static_cast<size_t>(i)] * scale, y_zero.at(offset[3]), dtype),
                    true);
  });
  return {};
}

}  // namespace

std::span<const KernelEntry> quantized_product_kernels() {
  static const KernelEntry entries[] = {
      {"MatMulInteger", "", run_mat_mul_integer},
      {"QLinearMatMul", "", run_qlinear_mat_mul},
  };
  return entries;
}

}  // namespace intarsia::reference
