#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

constexpr std::string_view domain = "ai.onnx.ml";

Status array_feature_extractor(ShapeContext& context) {
  TRY(require_rank(context, 0, 1));
  OptionalShape result = input_shape(context, 0);
  if (result) {
    const SymbolicShape* indices = context.shape(1);
    if (result->size() == 1) result->insert(result->begin(), Dim(1));
    result->back() = indices ? product_of_dims(*indices, 0, indices->size()) : Dim::unknown();
  }
  context.set_output(0, context.dtype(0), result);
  return {};
}

Status label_encoder(ShapeContext& context) {
  const Attributes& attributes = context.attributes();
  DType dtype = DType::f32;
  if (const Tensor* values = attributes.get_tensor("values_tensor")) {
    dtype = values->dtype();
  } else if (attributes.has("values_strings")) {
    dtype = DType::string;
  } else if (attributes.has("values_int64s")) {
    dtype = DType::i64;
  } else if (attributes.has("classes_strings")) {
    dtype = context.dtype(0) == DType::string ? DType::i64 : DType::string;
  }
  context.set_output(0, dtype, input_shape(context, 0));
  return {};
}

Status tree_ensemble(ShapeContext& context) {
  TRY(require_rank(context, 0, 2, 2));
  const int64_t targets = context.attributes().get_int("n_targets", 1);
  if (targets < 1) return fail("n_targets is {}", targets);
  const SymbolicShape* x = context.shape(0);
  context.set_output(0, context.dtype(0), SymbolicShape{x ? (*x)[0] : Dim::unknown(), Dim(targets)});
  return {};
}

Status tree_regressor(ShapeContext& context) {
  TRY(require_rank(context, 0, 2, 2));
  const int64_t targets = context.attributes().get_int("n_targets", 1);
  if (targets < 1) return fail("n_targets is {}", targets);
  const SymbolicShape* x = context.shape(0);
  context.set_output(0, DType::f32, SymbolicShape{x ? (*x)[0] : Dim::unknown(), Dim(targets)});
  return {};
}

constexpr OpInfo machine_learning_rows[] = {
    {"ArrayFeatureExtractor", domain, 2, 2, 1, 1, array_feature_extractor},
    {"Binarizer", domain, 1, 1, 1, 1, same_as_input, true},
    {"LabelEncoder", domain, 1, 1, 1, 1, label_encoder, true},
    {"TreeEnsemble", domain, 1, 1, 1, 1, tree_ensemble},
    {"TreeEnsembleRegressor", domain, 1, 1, 1, 1, tree_regressor},
};

}  // namespace

std::span<const OpInfo> machine_learning_ops() { return machine_learning_rows; }

}  // namespace intarsia
