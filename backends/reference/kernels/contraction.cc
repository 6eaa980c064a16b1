#include <algorithm>
#include <cmath>

#include "backends/reference/kernels/einsum.h"
#include "backends/reference/kernels/kernel_families.h"
#include "backends/reference/kernels/move.h"

namespace intarsia::reference {
namespace {

/// Computes y (rows x columns) = a (rows x depth) times b (depth x columns), dense.
template <typename T>
void multiply(const T* a, const T* b, T* y, int64_t rows, int64_t depth, int64_t columns) {
  std::vector<Wrapping<T>> sums(static_cast<size_t>(columns));
  for (int64_t row = 0; row < rows; ++row) {
    std::ranges::fill(sums, Wrapping<T>(0));
    for (int64_t k = 0; k < depth; ++k) {
      const auto factor = static_cast<Wrapping<T>>(a[row * depth + k]);
      const T* from = b + k * columns;
      for (int64_t j = 0; j < columns; ++j) {
        sums[static_cast<size_t>(j)] += factor * static_cast<Wrapping<T>>(from[j]);
      }
    }
    for (int64_t j = 0; j < columns; ++j) y[row * columns + j] = static_cast<T>(sums[static_cast<size_t>(j)]);
  }
}

Status matmul(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const ConstTensorView& a = context.input(0);
  const ConstTensorView& b = context.input(1);
  if (a.shape.empty() || b.shape.empty() || a.dtype != b.dtype) {
    return fail("{} {} times {} {}", dtype_name(a.dtype), print_shape(a.shape), dtype_name(b.dtype),
                print_shape(b.shape));
  }
  // A vector is a row on the left and a column on the right; that axis is dropped from the result.
  Shape left = a.shape, right = b.shape;
  if (a.shape.size() == 1) left.insert(left.begin(), 1);
  if (b.shape.size() == 1) right.push_back(1);
  const int64_t rows = left[left.size() - 2], depth = left.back(), columns = right.back();
  if (right[right.size() - 2] != depth) {
    return fail("{} times {}: the inner sizes differ", print_shape(a.shape), print_shape(b.shape));
  }
  left.resize(left.size() - 2);
  right.resize(right.size() - 2);
  const Shape batch = TRY(broadcast_shapes(left, right));
  Shape shape = batch;
  if (a.shape.size() > 1) shape.push_back(rows);
  if (b.shape.size() > 1) shape.push_back(columns);
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, a.dtype, shape));
  if (element_count(shape) == 0) return {};
  return dispatch_number(a.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> x(a), w(b);
    WriteAs<T> out(y);
    for_each_offset<2>(batch, {broadcast_strides(left, batch), broadcast_strides(right, batch)},
                       [&](int64_t i, const auto& at) {
                         multiply(x.data() + at[0] * rows * depth, w.data() + at[1] * depth * columns,
                                  out.data() + i * rows * columns, rows, depth, columns);
                       });
    return {};
  });
}

/// Reads a matrix of numbers, transposed or not.
template <typename T>
std::vector<T> read_matrix(const ConstTensorView& view, bool transposed) {
  const ReadAs<T> in(view);
  std::vector<T> result(in.begin(), in.end());
  const int64_t rows = view.shape[0], columns = view.shape[1];
  for (int64_t i = 0; transposed && i < in.size(); ++i) {
    result[static_cast<size_t>(i % columns * rows + i / columns)] = in[i];
  }
  return result;
}

Status gemm(KernelContext& context) {
  TRY(require_inputs(context, 2));
  TRY(require_rank(context, 0, 2));
  TRY(require_rank(context, 1, 2));
  const ConstTensorView& a = context.input(0);
  const ConstTensorView& b = context.input(1);
  const bool turn_a = context.attributes().get_int("transA", 0) != 0;
  const bool turn_b = context.attributes().get_int("transB", 0) != 0;
  const int64_t rows = a.shape[turn_a ? 1 : 0], depth = a.shape[turn_a ? 0 : 1];
  const int64_t columns = b.shape[turn_b ? 0 : 1];
  if (b.shape[turn_b ? 1 : 0] != depth || a.dtype != b.dtype) {
    return fail("{} {} times {} {}", dtype_name(a.dtype), print_shape(a.shape), dtype_name(b.dtype),
                print_shape(b.shape));
  }
  const Shape shape = {rows, columns};
  TRY(checked_elements(shape));
  if (context.has_input(2)) {
    const ConstTensorView& c = context.input(2);
    if (c.dtype != a.dtype || TRY(broadcast_shapes(c.shape, shape)) != shape) {
      return fail("C is {} {}, the product {}", dtype_name(c.dtype), print_shape(c.shape),
                  print_shape(shape));
    }
  }
  const TensorView y = TRY(context.output(0, a.dtype, shape));
  if (element_count(shape) == 0) return {};
  return dispatch_number(a.dtype, [&]<typename T>() -> Status {
    const auto alpha = convert<T>(context.attributes().get_float("alpha", 1));
    const auto beta = convert<T>(context.attributes().get_float("beta", 1));
    WriteAs<T> out(y);
    multiply(read_matrix<T>(a, turn_a).data(), read_matrix<T>(b, turn_b).data(), out.data(), rows, depth,
             columns);
    for (T& value : out) value = wrapping_multiply(value, alpha);
    if (!context.has_input(2)) return {};
    const ReadAs<T> c(context.input(2));
    for_each_offset<1>(
        shape, {broadcast_strides(context.input(2).shape, shape)},
        [&](int64_t i, const auto& at) { out[i] = wrapping_add(out[i], wrapping_multiply(beta, c[at[0]])); });
    return {};
  });
}

/// Computes the determinant by Gaussian elimination with partial pivoting; `m` is overwritten.
double determinant(std::vector<double> m, size_t n) {
  double result = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t row = k + 1; row < n; ++row) {
      if (std::abs(m[row * n + k]) > std::abs(m[pivot * n + k])) pivot = row;
    }
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(m.begin() + static_cast<int64_t>(k * n), m.begin() + static_cast<int64_t>((k + 1) * n),
                       m.begin() + static_cast<int64_t>(pivot * n));
      result = -result;
    }
    result *= m[k * n + k];
    for (size_t row = k + 1; row < n; ++row) {
      const double factor = m[row * n + k] / m[k * n + k];
      for (size_t column = k; column < n; ++column) m[row * n + column] -= factor * m[k * n + column];
    }
  }
  return result;
}

Status det(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const size_t rank = x.shape.size();
  if (rank < 2 || x.shape[rank - 1] != x.shape[rank - 2]) {
    return fail("input 0 has shape {}, want square matrices", print_shape(x.shape));
  }
  const TensorView y = TRY(context.output(0, x.dtype, Shape(x.shape.begin(), x.shape.end() - 2)));
  const int64_t n = x.shape.back();
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> in(x);
    WriteAs<T> out(y);
    for (int64_t i = 0; i < out.size(); ++i) {
      const T* first = in.data() + i * n * n;
      out[i] = static_cast<T>(determinant(std::vector<double>(first, first + n * n), static_cast<size_t>(n)));
    }
    return {};
  });
}

constexpr KernelEntry contraction_rows[] = {
    {"Det", "", det},
    {"Einsum", "", einsum},
    {"Gemm", "", gemm},
    {"MatMul", "", matmul},
};

}  // namespace

std::span<const KernelEntry> contraction_kernels() { return contraction_rows; }

}  // namespace intarsia::reference
