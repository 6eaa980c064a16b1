#include "runtime/output_shapes.h"

#include <algorithm>

#include "runtime/argument_names.h"
#include "runtime/bind_sizes.h"
#include "runtime/check_shape.h"

namespace intarsia {
namespace {

/// Checks the inputs in the order in which a run checks them, and takes the open sizes.
Status bind_inputs(const fbs::FunctionT& function, std::span<const NamedShape> inputs, SizeBinder& sizes) {
  ArgumentNames names("input", function, function.inputs);
  std::vector<const Shape*> shapes(names.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t at = TRY(names.find(inputs[i].name, i));
    const fbs::ValueT& value = *function.values[names.value(at)];
    if (value.dtype == 0) continue;
    TRY(check_shape("input", value, inputs[i].shape));
    TRY(sizes.tell(value, inputs[i].shape));
    shapes[at] = &inputs[i].shape;
  }
  for (size_t at = 0; at < names.size(); ++at) {
    const fbs::ValueT& value = *function.values[names.value(at)];
    if (value.dtype == 0 && !names.is_given(at)) TRY(names.find(value.name, at));
  }
  TRY(names.check_all_given());
  for (size_t at = 0; at < names.size(); ++at)
    if (shapes[at] != nullptr) TRY(sizes.check("input", *function.values[names.value(at)], *shapes[at]));
  return {};
}

Result<OutputShape> shape_of(const fbs::ValueT& output, const SizeBinder& sizes) {
  if (output.rank_unknown || output.dtype == 0) return OutputShape();
  Shape shape = output.dims;
  for (size_t axis = 0; axis < output.sizes.size(); ++axis) {
    if (output.sizes[axis] == 0) continue;
    shape[axis] = TRY(sizes.compute("output", output, axis));
    if (shape[axis] < 0)
      return fail("output '{}' would have size {} on axis {}: the model does not work with these sizes",
                  output.name, shape[axis], axis);
  }
  const bool is_known = std::ranges::find(shape, -1) == shape.end();
  if (is_known) TRY(with_context(checked_elements(shape), "output '{}'", output.name));
  return shape;
}

}  // namespace

Result<std::vector<OutputShape>> find_output_shapes(const fbs::FunctionT& function,
                                                    std::span<const NamedShape> inputs) {
  SizeBinder sizes(function);
  TRY(bind_inputs(function, inputs, sizes));
  std::vector<OutputShape> shapes;
  for (uint32_t output : function.outputs) shapes.push_back(TRY(shape_of(*function.values[output], sizes)));
  return shapes;
}

}  // namespace intarsia
