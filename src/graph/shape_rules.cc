#include "graph/shape_rules.h"

#include <algorithm>

namespace intarsia {
namespace {

Status set_all_outputs(ShapeContext& context, DType dtype, const OptionalShape& shape) {
  for (size_t i = 0; i < context.output_count(); ++i) context.set_output(i, dtype, shape);
  return {};
}

/// Checks that all inputs with a known dtype have the same one.
Status check_one_dtype(const ShapeContext& context) {
  DType common = DType::undefined;
  for (size_t i = 0; i < context.input_count(); ++i) {
    const DType dtype = context.dtype(i);
    if (dtype == DType::undefined) continue;
    if (common == DType::undefined) common = dtype;
    if (dtype != common)
      return fail("input {} is {}, want {} like the inputs before it", i, dtype_name(dtype),
                  dtype_name(common));
  }
  return {};
}

}  // namespace

OptionalShape input_shape(const ShapeContext& context, size_t input) {
  const SymbolicShape* shape = context.shape(input);
  return shape ? OptionalShape(*shape) : std::nullopt;
}

Status set_shape(ShapeContext& context, OptionalShape shape) {
  context.set_output(0, context.dtype(0), std::move(shape));
  return {};
}

Status same_as_input(ShapeContext& context) {
  return set_all_outputs(context, context.dtype(0), input_shape(context, 0));
}

Status broadcast_inputs(ShapeContext& context) {
  TRY(check_one_dtype(context));
  return set_all_outputs(context, context.dtype(0),
                         TRY(broadcast_shape_of(context, 0, context.input_count())));
}

Status broadcast_inputs_to_bool(ShapeContext& context) {
  TRY(check_one_dtype(context));
  return set_all_outputs(context, DType::boolean, TRY(broadcast_shape_of(context, 0, context.input_count())));
}

Result<Dim> broadcast_dim(const Dim& a, const Dim& b) {
  if (a == 1) return b;
  if (b == 1 || provably_equal(a, b) || is_limited(b, a)) return a;
  if (is_limited(a, b)) return b;
  if (a.is_number() && b.is_number()) return fail("sizes {} and {} do not broadcast", a.number(), b.number());
  if (a.is_number()) return a;
  if (b.is_number()) return b;
  return Dim::unknown();
}

Result<SymbolicShape> broadcast_symbolic(const SymbolicShape& a, const SymbolicShape& b) {
  const Dim one = 1;
  SymbolicShape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const Dim& x = i < a.size() ? a[a.size() - 1 - i] : one;
    const Dim& y = i < b.size() ? b[b.size() - 1 - i] : one;
    Result<Dim> dim = broadcast_dim(x, y);
    if (!dim) return fail("shapes {} and {} do not broadcast", print_shape(a), print_shape(b));
    result[result.size() - 1 - i] = *dim;
  }
  return result;
}

Result<OptionalShape> broadcast_shape_of(const ShapeContext& context, size_t first, size_t last) {
  SymbolicShape result;
  for (size_t i = first; i < last; ++i) {
    if (!context.has_input(i)) continue;
    const SymbolicShape* shape = context.shape(i);
    if (shape == nullptr) return OptionalShape();
    result = TRY(broadcast_symbolic(result, *shape));
  }
  return OptionalShape(std::move(result));
}

Result<Dim> merge_dim(const Dim& a, const Dim& b) {
  if (a.is_number() && b.is_number() && a != b) return fail("sizes {} and {} differ", a.number(), b.number());
  if (a.is_number()) return a;
  if (b.is_number()) return b;
  return a.is_known() ? a : b;
}

Status require_same_dim(const Dim& a, const Dim& b, std::string_view what) {
  if (a.is_number() && b.is_number() && a != b)
    return fail("{}: sizes {} and {} differ", what, a.number(), b.number());
  return {};
}

Status require_rank(const ShapeContext& context, size_t input, int64_t least, int64_t most) {
  const SymbolicShape* shape = context.shape(input);
  if (shape == nullptr) return {};
  const auto rank = static_cast<int64_t>(shape->size());
  if (rank >= least && (most < 0 || rank <= most)) return {};
  if (least == most) return fail("input {} has shape {}, want rank {}", input, print_shape(*shape), least);
  if (most < 0) return fail("input {} has shape {}, want rank {} or more", input, print_shape(*shape), least);
  return fail("input {} has shape {}, want rank {} to {}", input, print_shape(*shape), least, most);
}

SymbolicShape unknown_dims(size_t rank) { return SymbolicShape(rank, Dim::unknown()); }

Result<int64_t> normalize_axis(int64_t axis, size_t rank) {
  const auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) return fail("axis {} is out of range for rank {}", axis, rank);
  return axis < 0 ? axis + limit : axis;
}

Result<std::vector<int64_t>> normalize_axes(std::vector<int64_t> axes, size_t rank) {
  std::vector<bool> seen(rank);
  for (int64_t& axis : axes) {
    axis = TRY(normalize_axis(axis, rank));
    if (seen[static_cast<size_t>(axis)]) return fail("axis {} is given twice", axis);
    seen[static_cast<size_t>(axis)] = true;
  }
  return axes;
}

IntsArgument ints_argument(const ShapeContext& context, std::string_view name, size_t input) {
  if (context.has_input(input)) return {true, context.known_ints(input)};
  if (context.attributes().has(name)) return {true, context.attributes().get_ints(name)};
  return {};
}

SizesArgument sizes_argument(const ShapeContext& context, std::string_view name, size_t input) {
  if (context.has_input(input)) return {true, context.elements(input)};
  if (context.attributes().has(name)) return {true, to_symbolic(context.attributes().get_ints(name))};
  return {};
}

AxisRange axes_of_shape(const ShapeContext& context, size_t rank) {
  const auto end_axis = static_cast<int64_t>(rank);
  const auto clamp_axis = [&](int64_t axis) {
    return static_cast<size_t>(std::clamp<int64_t>(axis < 0 ? axis + end_axis : axis, 0, end_axis));
  };
  const size_t first = clamp_axis(context.attributes().get_int("start", 0));
  return {first, std::max(first, clamp_axis(context.attributes().get_int("end", end_axis)))};
}

std::optional<int64_t> known_int(const ShapeContext& context, size_t input) {
  const std::optional<std::vector<int64_t>> values = context.known_ints(input);
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

Result<OptionalShape> shape_from_input(const ShapeContext& context, size_t input) {
  constexpr int64_t largest_rank = 64;  // limit against an allocation by an absurd length in a file
  if (const std::optional<SymbolicShape> sizes = context.elements(input)) {
    for (const Dim& size : *sizes) {
      if (size.is_number() && size.number() < 0)
        return fail("input {} is a shape with the negative size {}", input, size.number());
    }
    return sizes;
  }
  const SymbolicShape* shape = context.shape(input);
  if (shape == nullptr || shape->size() != 1 || !shape->front().is_number()) return OptionalShape();
  if (shape->front().number() > largest_rank)
    return fail("input {} is a shape of rank {}", input, shape->front().number());
  return OptionalShape(unknown_dims(static_cast<size_t>(shape->front().number())));
}

Result<DType> dtype_attribute(const ShapeContext& context, std::string_view name, DType otherwise) {
  const int64_t number = context.attributes().get_int(name, static_cast<int64_t>(otherwise));
  if (number < 0 || number >= dtype_count)
    return fail("attribute {} is {}, which is not a dtype", name, number);
  return static_cast<DType>(number);
}

}  // namespace intarsia
