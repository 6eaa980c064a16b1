#include <algorithm>

#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

// Returns the input's shape with `axes` set to 1 or removed.
SymbolicShape reduce_axes(const SymbolicShape& shape, const std::vector<int64_t>& axes, bool keepdims) {
  SymbolicShape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool reduced = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    if (!reduced) result.push_back(shape[i]);
    if (reduced && keepdims) result.push_back(Dim(1));
  }
  return result;
}

std::vector<int64_t> all_axes(size_t rank) {
  std::vector<int64_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

Result<OptionalShape> infer_reduced_shape(const ShapeContext& context) {
  const SymbolicShape* shape = context.shape(0);
  if (shape == nullptr) return OptionalShape();
  const bool keepdims = context.attributes().get_int("keepdims", 1) != 0;
  const IntsArgument axes = ints_argument(context, "axes", 1);
  if (axes.given && !axes.values)
    return keepdims ? OptionalShape(unknown_dims(shape->size())) : OptionalShape();
  std::vector<int64_t> list =
      TRY(normalize_axes(axes.values.value_or(std::vector<int64_t>()), shape->size()));
  if (list.empty() && context.attributes().get_int("noop_with_empty_axes", 0) == 0)
    list = all_axes(shape->size());
  return OptionalShape(reduce_axes(*shape, list, keepdims));
}

Status infer_reduce(ShapeContext& context) {
  context.set_output(0, context.dtype(0), TRY(infer_reduced_shape(context)));
  return {};
}

Status infer_arg_extreme(ShapeContext& context) {
  const SymbolicShape* shape = context.shape(0);
  OptionalShape result;
  if (shape != nullptr) {
    const int64_t axis = TRY(normalize_axis(context.attributes().get_int("axis", 0), shape->size()));
    result = reduce_axes(*shape, {axis}, context.attributes().get_int("keepdims", 1) != 0);
  }
  context.set_output(0, DType::i64, result);
  return {};
}

}  // namespace

std::span<const OpInfo> reduction_ops() {
  static const OpInfo reduction_rows[] = {
      {"ArgMax", "", 1, 1, 1, 1, infer_arg_extreme},  {"ArgMin", "", 1, 1, 1, 1, infer_arg_extreme},
      {"CumProd", "", 2, 2, 1, 1, same_as_input},     {"CumSum", "", 2, 2, 1, 1, same_as_input},
      {"ReduceL1", "", 1, 2, 1, 1, infer_reduce},     {"ReduceL2", "", 1, 2, 1, 1, infer_reduce},
      {"ReduceLogSum", "", 1, 2, 1, 1, infer_reduce}, {"ReduceLogSumExp", "", 1, 2, 1, 1, infer_reduce},
      {"ReduceMax", "", 1, 2, 1, 1, infer_reduce},    {"ReduceMean", "", 1, 2, 1, 1, infer_reduce},
      {"ReduceMin", "", 1, 2, 1, 1, infer_reduce},    {"ReduceProd", "", 1, 2, 1, 1, infer_reduce},
      {"ReduceSum", "", 1, 2, 1, 1, infer_reduce},    {"ReduceSumSquare", "", 1, 2, 1, 1, infer_reduce},
  };
  return reduction_rows;
}

}  // namespace intarsia
