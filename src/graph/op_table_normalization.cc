#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

// Infers BatchNormalization; all outputs but the first are one number per channel.
Status infer_batch_normalization(ShapeContext& context) {
  context.set_output(0, context.dtype(0), input_shape(context, 0));
  for (size_t i = 1; i < context.output_count(); ++i) {
    const size_t source = i % 2 == 1 ? 3 : 4;
    context.set_output(i, context.dtype(source), input_shape(context, source));
  }
  return {};
}

// Infers LayerNormalization; Mean and InvStdDev have the input's shape with 1 from `axis` on.
Status infer_layer_normalization(ShapeContext& context) {
  OptionalShape statistics = input_shape(context, 0);
  context.set_output(0, context.dtype(0), statistics);
  if (statistics) {
    const int64_t axis = TRY(normalize_axis(context.attributes().get_int("axis", -1), statistics->size()));
    std::fill(statistics->begin() + axis, statistics->end(), Dim(1));
  }
  const DType stash = context.attributes().get_int("stash_type", 1) == 16 ? DType::bf16 : DType::f32;
  for (size_t i = 1; i < context.output_count(); ++i) context.set_output(i, stash, statistics);
  return {};
}

Status infer_rms_normalization(ShapeContext& context) {
  context.set_output(0, context.dtype(1), input_shape(context, 0));
  return {};
}

Status infer_loss(ShapeContext& context) {
  OptionalShape loss = SymbolicShape{};
  if (context.attributes().get_string("reduction", "mean") == "none") loss = input_shape(context, 1);
  context.set_output(0, context.dtype(0), loss);
  context.set_output(1, context.dtype(0), input_shape(context, 0));
  return {};
}

}  // namespace

std::span<const OpInfo> normalization_ops() {
  static const OpInfo normalization_rows[] = {
      {"BatchNormalization", "", 5, 5, 1, 5, infer_batch_normalization},
      {"GroupNormalization", "", 3, 3, 1, 1, same_as_input},
      {"Hardmax", "", 1, 1, 1, 1, same_as_input},
      {"InstanceNormalization", "", 3, 3, 1, 1, same_as_input},
      {"LRN", "", 1, 1, 1, 1, same_as_input},
      {"LayerNormalization", "", 2, 3, 1, 3, infer_layer_normalization},
      {"LogSoftmax", "", 1, 1, 1, 1, same_as_input},
      {"LpNormalization", "", 1, 1, 1, 1, same_as_input},
      {"MeanVarianceNormalization", "", 1, 1, 1, 1, same_as_input},
      {"NegativeLogLikelihoodLoss", "", 2, 3, 1, 1, infer_loss},
      {"RMSNormalization", "", 2, 2, 1, 1, infer_rms_normalization},
      {"Softmax", "", 1, 1, 1, 1, same_as_input},
      {"SoftmaxCrossEntropyLoss", "", 2, 3, 1, 2, infer_loss},
  };
  return normalization_rows;
}

}  // namespace intarsia
