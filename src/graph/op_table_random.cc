#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

Status infer_with_shape(ShapeContext& context) {
  SymbolicShape shape;
  for (int64_t size : context.attributes().get_ints("shape")) {
    if (size < 0) return fail("attribute shape holds {}", size);
    shape.push_back(Dim(size));
  }
  context.set_output(0, TRY(dtype_attribute(context, "dtype", DType::f32)), shape);
  return {};
}

Status infer_like(ShapeContext& context) {
  context.set_output(0, TRY(dtype_attribute(context, "dtype", context.dtype(0))), input_shape(context, 0));
  return {};
}

Status infer_multinomial(ShapeContext& context) {
  TRY(require_rank(context, 0, 2, 2));
  const SymbolicShape x = input_shape(context, 0).value_or(unknown_dims(2));
  const int64_t samples = context.attributes().get_int("sample_size", 1);
  if (samples < 0) return fail("attribute sample_size is {}", samples);
  context.set_output(0, TRY(dtype_attribute(context, "dtype", DType::i32)),
                     SymbolicShape{x[0], Dim(samples)});
  return {};
}

Status infer_dropout(ShapeContext& context) {
  context.set_output(0, context.dtype(0), input_shape(context, 0));
  context.set_output(1, context.version() < 10 ? context.dtype(0) : DType::boolean, input_shape(context, 0));
  return {};
}

OpInfo random_row(std::string_view name, int min_inputs, int max_inputs, int max_outputs, ShapeRule rule) {
  OpInfo row{name, "", min_inputs, max_inputs, 1, max_outputs, rule};
  row.deterministic = false;
  return row;
}

}  // namespace

std::span<const OpInfo> random_ops() {
  // Dropout drops elements only if its input training_mode says so, but always counts as random.
  static const OpInfo random_rows[] = {
      random_row("Bernoulli", 1, 1, 1, infer_like),
      random_row("Dropout", 1, 3, 2, infer_dropout),
      random_row("Multinomial", 1, 1, 1, infer_multinomial),
      random_row("RandomNormal", 0, 0, 1, infer_with_shape),
      random_row("RandomNormalLike", 1, 1, 1, infer_like),
      random_row("RandomUniform", 0, 0, 1, infer_with_shape),
      random_row("RandomUniformLike", 1, 1, 1, infer_like),
  };
  return random_rows;
}

}  // namespace intarsia
