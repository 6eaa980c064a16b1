#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

// Infers an optimizer. Inputs are R, T, then n tensors, n gradients and n of each accumulated value; outputs
// are n tensors and n of each accumulated value.
template <size_t accumulated>
Status infer_optimizer(ShapeContext& context) {
  constexpr size_t kinds = accumulated + 2;
  if (context.input_count() < 2 || (context.input_count() - 2) % kinds != 0) {
    return fail("{} inputs are not 2 and a multiple of {}", context.input_count(), kinds);
  }
  const size_t count = (context.input_count() - 2) / kinds;
  for (size_t i = 0; i < context.output_count() && count > 0; ++i) {
    const size_t kind = i < count ? 0 : i / count + 1;
    const size_t input = 2 + kind * count + i % count;
    context.set_output(i, context.dtype(input), input_shape(context, input));
  }
  return {};
}

}  // namespace

std::span<const OpInfo> training_ops() {
  static const OpInfo training_rows[] = {
      {"Adagrad", "ai.onnx.preview.training", 3, -1, 1, -1, infer_optimizer<1>},
      {"Adam", "ai.onnx.preview.training", 3, -1, 1, -1, infer_optimizer<2>},
      {"Momentum", "ai.onnx.preview.training", 3, -1, 1, -1, infer_optimizer<1>},
  };
  return training_rows;
}

}  // namespace intarsia
