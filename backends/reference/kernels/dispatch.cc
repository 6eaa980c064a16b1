#include "backends/reference/kernels/dispatch.h"

#include <algorithm>

namespace intarsia::reference {

Result<int64_t> resolve_axis(int64_t axis, size_t rank) {
  const auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) return fail("axis {} is out of range for rank {}", axis, rank);
  return axis < 0 ? axis + limit : axis;
}

Result<std::vector<int64_t>> resolve_axes(std::vector<int64_t> axes, size_t rank) {
  std::vector<bool> seen(rank);
  for (int64_t& axis : axes) {
    axis = TRY(resolve_axis(axis, rank));
    if (seen[static_cast<size_t>(axis)]) return fail("axis {} is given twice", axis);
    seen[static_cast<size_t>(axis)] = true;
  }
  return axes;
}

Result<std::optional<std::vector<int64_t>>> ints_argument(const KernelContext& context, std::string_view name,
                                                          size_t input) {
  std::optional<std::vector<int64_t>> ints;
  if (context.has_input(input)) {
    ints = TRY(context.input_ints(input));
  } else if (context.attributes().has(name)) {
    ints = context.attributes().get_ints(name);
  }
  return ints;
}

Status require_inputs(const KernelContext& context, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!context.has_input(i)) return fail("input {} is missing, want at least {} inputs", i, count);
  }
  return {};
}

Status require_dtype(const KernelContext& context, size_t first, size_t last, DType dtype) {
  for (size_t i = first; i < last; ++i) {
    if (!context.has_input(i) || context.input(i).dtype == dtype) continue;
    return fail("input {} has dtype {}, want {}", i, dtype_name(context.input(i).dtype), dtype_name(dtype));
  }
  return {};
}

Status require_number(const KernelContext& context, size_t i) {
  if (!context.has_input(i)) return fail("input {} is missing", i);
  if (is_number(context.input(i).dtype)) return {};
  return fail("input {} has dtype {}, want numbers", i, dtype_name(context.input(i).dtype));
}

Status require_shape(const KernelContext& context, size_t i, const Shape& shape) {
  if (!context.has_input(i)) return fail("input {} is missing", i);
  if (context.input(i).shape == shape) return {};
  return fail("input {} has shape {}, want {}", i, print_shape(context.input(i).shape), print_shape(shape));
}

AxisSplit split_at_axis(const Shape& shape, int64_t axis) {
  AxisSplit split;
  for (size_t i = 0; i < shape.size(); ++i) {
    (static_cast<int64_t>(i) < axis    ? split.outer
     : static_cast<int64_t>(i) == axis ? split.size
                                       : split.inner) *= shape[i];
  }
  return split;
}

Shape broadcast_strides(const Shape& from, const Shape& to) {
  const Shape strides = row_major_strides(from);
  Shape result(to.size(), 0);
  const size_t first = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) result[first + i] = from[i] == 1 ? 0 : strides[i];
  return result;
}

}  // namespace intarsia::reference
