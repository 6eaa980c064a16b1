#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

Status gather(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  const SymbolicShape* indices = context.shape(1);
  OptionalShape result;
  if (x != nullptr) {
    const auto axis = TRY(normalize_axis(context.attributes().get_int("axis", 0), x->size()));
    if (indices != nullptr) {
      result.emplace(x->begin(), x->begin() + axis);
      result->insert(result->end(), indices->begin(), indices->end());
      result->insert(result->end(), x->begin() + axis + 1, x->end());
    }
  }
  context.set_output(0, context.dtype(0), result);
  return {};
}

Status gather_elements(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  const SymbolicShape* indices = context.shape(1);
  if (x != nullptr) TRY(normalize_axis(context.attributes().get_int("axis", 0), x->size()));
  if (x != nullptr && indices != nullptr && x->size() != indices->size()) {
    return fail("indices of shape {} for data of shape {}", print_shape(*indices), print_shape(*x));
  }
  context.set_output(0, context.dtype(0), input_shape(context, 1));
  return {};
}

Status gather_nd(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  const SymbolicShape* indices = context.shape(1);
  TRY(require_rank(context, 0, 1));
  TRY(require_rank(context, 1, 1));
  OptionalShape result;
  if (x != nullptr && indices != nullptr && indices->back().is_number()) {
    const int64_t batch_dims = context.attributes().get_int("batch_dims", 0);
    const auto rank = static_cast<int64_t>(x->size());
    if (batch_dims < 0 || batch_dims >= static_cast<int64_t>(indices->size()) || batch_dims > rank ||
        indices->back().number() > rank - batch_dims) {
      return fail("indices of shape {} for data of shape {}", print_shape(*indices), print_shape(*x));
    }
    result.emplace(indices->begin(), indices->end() - 1);
    result->insert(result->end(), x->begin() + batch_dims + indices->back().number(), x->end());
  }
  context.set_output(0, context.dtype(0), result);
  return {};
}

Status scatter_elements(ShapeContext& context) {
  if (const SymbolicShape* x = context.shape(0)) {
    TRY(normalize_axis(context.attributes().get_int("axis", 0), x->size()));
  }
  return same_as_input(context);
}

Status one_hot(ShapeContext& context) {
  OptionalShape result = input_shape(context, 0);
  if (result) {
    const auto axis = TRY(normalize_axis(context.attributes().get_int("axis", -1), result->size() + 1));
    const std::optional<int64_t> depth = known_int(context, 1);
    if (depth && *depth < 0) return fail("depth is {}", *depth);
    result->insert(result->begin() + axis, depth ? Dim(*depth) : Dim::unknown());
  }
  context.set_output(0, context.dtype(2), result);
  return {};
}

Status tensor_scatter(ShapeContext& context) {
  TRY(require_rank(context, 0, 2));
  return same_as_input(context);
}

constexpr OpInfo indexing_rows[] = {
    {"Gather", "", 2, 2, 1, 1, gather},
    {"GatherElements", "", 2, 2, 1, 1, gather_elements},
    {"GatherND", "", 2, 2, 1, 1, gather_nd},
    {"OneHot", "", 3, 3, 1, 1, one_hot},
    {"Scatter", "", 3, 3, 1, 1, scatter_elements},
    {"ScatterElements", "", 3, 3, 1, 1, scatter_elements},
    {"ScatterND", "", 3, 3, 1, 1, same_as_input},
    {"TensorScatter", "", 2, 3, 1, 1, tensor_scatter},
};

}  // namespace

std::span<const OpInfo> indexing_ops() { return indexing_rows; }

}  // namespace intarsia
