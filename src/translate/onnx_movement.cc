// Operators of ONNX that place elements, or make tensors from sizes: CenterCropPad, EyeLike, AffineGrid,
// Hardmax, Det.
#include <algorithm>
#include <numeric>

#include "translate/rules.h"

namespace intarsia {
namespace {

/// Translates CenterCropPad: one Pad, by less than 0 where it crops. An odd difference is at the end.
Status center_crop_pad(Translation& t) {
  const SymbolicShape from = TRY(t.sizes(0));
  const auto rank = static_cast<int64_t>(from.size());
  const std::vector<Dim> sizes = TRY(t.elements(1));
  std::vector<int64_t> axes(from.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = t.attributes().get_ints("axes", axes);
  if (axes.size() != sizes.size()) return fail("{} sizes for {} axes", sizes.size(), axes.size());
  std::vector<int64_t> pads(2 * from.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(TRY(normal_axis(axes[i], rank)));
    const Dim more = sizes[i] - from[axis];
    if (!more.is_number()) return fail("axis {} from {} to {}", axis, from[axis].print(), sizes[i].print());
    pads[axis] = more.number() / 2;
    pads[from.size() + axis] = more.number() - more.number() / 2;
  }
  t.give(0, t.make("Pad", {t.input(0), t.make_integers(pads)}));
  return {};
}

Status eye_like(Translation& t) {
  const int64_t number = t.attributes().get_int("dtype", static_cast<int64_t>(t.dtype(0)));
  if (number < 1 || number >= dtype_count) return fail("dtype {} is none", number);
  if (TRY(t.rank(0)) != 2) return fail("of rank {}", TRY(t.rank(0)));
  const int64_t diagonal = t.attributes().get_int("k", 0);
  constexpr int64_t limit = int64_t{1} << 62;
  if (diagonal < -limit || diagonal > limit) return fail("diagonal {}", diagonal);
  const ValueId row = t.unsqueeze(t.count_up(t.size_of(t.input(0), 0)), {1});
  const ValueId column = t.count_up(t.size_of(t.input(0), 1));
  const ValueId wanted = t.make("Add", {row, t.make_integers({diagonal})});
  t.give(0, t.cast(t.make("Equal", {wanted, column}), static_cast<DType>(number)));
  return {};
}

/// Makes the places of an image's points, [points, rank + 1]: x, y, (z,) 1 from -1 to 1, of the centers of
/// the points or, with `aligns`, so that the corners are at the ends.
Result<Tensor> image_points(const std::vector<int64_t>& image, bool aligns) {
  const auto rank = static_cast<int64_t>(image.size());
  const int64_t count = TRY(checked_elements(image));
  if (count < 1 || count * (rank + 1) > max_made_elements) return fail("a grid of {}", print_shape(image));
  Tensor points(DType::f64, {count, rank + 1});
  for (int64_t i = 0; i < count; ++i) {
    double* point = points.as<double>().data() + i * (rank + 1);
    int64_t rest = i;
    for (int64_t k = 0; k < rank; ++k) {
      const int64_t length = image[static_cast<size_t>(rank - 1 - k)];
      const auto place = static_cast<double>(rest % length),
                 steps = static_cast<double>(aligns ? length - 1 : length);
      point[k] = !aligns ? (2 * place + 1) / steps - 1 : length == 1 ? 0 : 2 * place / steps - 1;
      rest /= length;
    }
    point[rank] = 1;
  }
  return points;
}

/// Translates AffineGrid: the points of the image times each matrix (Jaderberg and others, "Spatial
/// Transformer Networks", 2015).
Status affine_grid(Translation& t) {
  const std::vector<int64_t> size = TRY(t.integers(1));
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  if (rank != 2 && rank != 3) return fail("of the size {}", print_shape(size));
  if (TRY(t.sizes(0)) != SymbolicShape{size[0], rank, rank + 1})
    return fail("theta of {} for the size {}", print_shape(TRY(t.sizes(0))), print_shape(size));
  const std::vector<int64_t> image(size.begin() + 2, size.end());
  const DType dtype = computed_type(t.dtype(0));
  const ValueId points = t.cast(
      t.make_constant(TRY(image_points(image, t.attributes().get_int("align_corners", 0) != 0))), dtype);
  const ValueId grid = t.make("MatMul", {points, t.transpose(t.computed(0), {0, 2, 1})});
  std::vector<int64_t> to{size[0]};
  to.insert(to.end(), image.begin(), image.end());
  to.push_back(rank);
  const ValueId y = t.reshape(grid, to);
  t.give(0, dtype == t.dtype(0) ? y : t.cast(y, t.dtype(0)));
  return {};
}

/// Translates Hardmax: 1 at the first of the largest. Before version 13 all axes from `axis` on are one row.
Status hardmax(Translation& t) {
  const bool is_old = t.node().version < 13;
  const int64_t rank = TRY(t.rank(0));
  if (rank == 0) return fail("of a scalar");
  int64_t axis = TRY(normal_axis(t.attributes().get_int("axis", is_old ? 1 : -1), rank));
  ValueId x = t.input(0);
  if (is_old) x = t.make("Flatten", {x}, {{"axis", axis}});
  const int64_t row_axis = is_old ? 1 : axis;
  ValueId places = t.count_up(t.size_of(x, row_axis));
  std::vector<int64_t> after((is_old ? 1 : rank - 1) - row_axis);
  std::iota(after.begin(), after.end(), 1);
  if (!after.empty()) places = t.unsqueeze(places, after);
  const ValueId first = t.make("ArgMax", {x}, {{"axis", row_axis}});
  ValueId y = t.cast(t.make("Equal", {first, places}), t.dtype(0));
  if (is_old) y = t.make("Reshape", {y, t.make("Shape", {t.input(0)})});
  t.give(0, y);
  return {};
}

/// Expands the determinant of rows `row` ... of these columns along its first row (Laplace).
ValueId expand_minors(Translation& t, const std::vector<std::vector<ValueId>>& elements, size_t row,
                      const std::vector<size_t>& columns) {
  ValueId sum = no_value;
  for (size_t i = 0; i < columns.size(); ++i) {
    ValueId term = elements[row][columns[i]];
    std::vector<size_t> others = columns;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (!others.empty()) term = t.make("Mul", {term, expand_minors(t, elements, row + 1, others)});
    sum = sum == no_value ? term : t.make(i % 2 == 0 ? "Add" : "Sub", {sum, term});
  }
  return sum;
}

Status det(Translation& t) {
  constexpr int64_t largest = 4;  // beyond it elimination with pivots is less work, and more accurate
  const SymbolicShape sizes = TRY(t.sizes(0));
  const auto rank = static_cast<int64_t>(sizes.size());
  if (rank < 2 || !sizes.back().is_number() || sizes.back() != sizes[sizes.size() - 2])
    return fail("of {}", print_shape(sizes));
  const int64_t n = sizes.back().number();
  if (n < 1 || n > largest) return fail("of a matrix of {} rows", n);
  const ValueId x = t.computed(0);
  std::vector<std::vector<ValueId>> elements;
  for (int64_t row = 0; row < n; ++row) {
    elements.emplace_back();
    for (int64_t column = 0; column < n; ++column) {
      const ValueId one =
          t.make("Slice", {x, t.make_integers({row, column}), t.make_integers({row + 1, column + 1}),
                           t.make_integers({rank - 2, rank - 1})});
      elements.back().push_back(t.make("Squeeze", {one, t.make_integers({rank - 2, rank - 1})}));
    }
  }
  std::vector<size_t> columns(static_cast<size_t>(n));
  std::iota(columns.begin(), columns.end(), 0);
  const ValueId y = expand_minors(t, elements, 0, columns);
  t.give(0, computed_type(t.dtype(0)) == t.dtype(0) ? y : t.cast(y, t.dtype(0)));
  return {};
}

constexpr TranslationRow onnx_movement_rows[] = {
    {"AffineGrid", affine_grid}, {"CenterCropPad", center_crop_pad}, {"Det", det}, {"EyeLike", eye_like},
    {"Hardmax", hardmax},
};

}  // namespace

std::span<const TranslationRow> movement_decompositions() { return onnx_movement_rows; }

}  // namespace intarsia
