#include "base/own_domain.h"
#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

Status top_k(ShapeContext& context) {
  OptionalShape result = input_shape(context, 0);
  if (result) {
    const auto axis = TRY(normalize_axis(context.attributes().get_int("axis", -1), result->size()));
    Dim& dim = (*result)[static_cast<size_t>(axis)];
    // k is an attribute before opset 10, then an input.
    const std::optional<int64_t> k =
        context.has_input(1) ? known_int(context, 1) : std::optional(context.attributes().get_int("k", -1));
    if (k && (*k < 0 || (dim.is_number() && *k > dim.number())))
      return fail("k is {} of {}", *k, dim.number());
    dim = k ? Dim(*k) : Dim::unknown();
  }
  context.set_output(0, context.dtype(0), result);
  context.set_output(1, DType::i64, result);
  return {};
}

Status non_zero(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  const Dim rank = x ? Dim(static_cast<int64_t>(x->size())) : Dim::unknown();
  context.set_output(0, DType::i64, SymbolicShape{rank, Dim::unknown()});
  return {};
}

/// Infers NonZero's places as rows, as TensorFlow has them.
Status non_zero_rows(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  const Dim rank = x ? Dim(static_cast<int64_t>(x->size())) : Dim::unknown();
  context.set_output(0, DType::i64, SymbolicShape{Dim::unknown(), rank});
  return {};
}

/// Infers some slices along the attribute `axis` or, without it, some elements as one axis.
Status take_slices(ShapeContext& context) {
  OptionalShape result = unknown_dims(1);
  if (context.attributes().has("axis")) {
    result = input_shape(context, 0);
    if (result) {
      const auto axis = TRY(normalize_axis(context.attributes().get_int("axis", 0), result->size()));
      (*result)[static_cast<size_t>(axis)] = Dim::unknown();
    }
  }
  context.set_output(0, context.dtype(0), result);
  return {};
}

/// Returns how many slices there are along the attribute `axis` or, without it, how many elements.
Result<Dim> count_slices(const ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) return Dim::unknown();
  if (!context.attributes().has("axis")) return product_of_dims(*x, 0, x->size());
  return (*x)[static_cast<size_t>(TRY(normalize_axis(context.attributes().get_int("axis", 0), x->size())))];
}

Status unique(ShapeContext& context) {
  TRY(take_slices(context));
  context.set_output(1, DType::i64, unknown_dims(1));
  context.set_output(2, DType::i64, SymbolicShape{TRY(count_slices(context))});
  context.set_output(3, DType::i64, unknown_dims(1));
  return {};
}

/// Infers distinct slices in the order of their places, the group of each slice, and the groups' counts, as
/// TensorFlow has them.
Status unique_in_order(ShapeContext& context) {
  TRY(take_slices(context));
  const DType dtype = TRY(dtype_attribute(context, "index_type", DType::i32));
  context.set_output(1, dtype, SymbolicShape{TRY(count_slices(context))});
  context.set_output(2, dtype, unknown_dims(1));
  return {};
}

constexpr OpInfo selection_rows[] = {
    {"Compress", "", 2, 2, 1, 1, take_slices},
    {"NonZero", "", 1, 1, 1, 1, non_zero},
    {"NonZeroRows", own_domain, 1, 1, 1, 1, non_zero_rows},
    {"TopK", "", 1, 2, 2, 2, top_k},
    {"Unique", "", 1, 1, 1, 4, unique},
    {"UniqueInOrder", own_domain, 1, 1, 1, 3, unique_in_order},
};

}  // namespace

std::span<const OpInfo> selection_ops() { return selection_rows; }

}  // namespace intarsia
