// Part of the C API that tells the shapes of outputs without a run.
#include "runtime/output_shapes.h"

#include <algorithm>

#include "api/external_tensor.h"
#include "api/handles.h"
#include "api/struct_sizes.h"
#include "runtime/argument_names.h"
#include "runtime/find_function.h"

namespace intarsia::api {
namespace {

Result<std::vector<NamedShape>> read_shapes(const intarsia_tensor* inputs, size_t count) {
  TRY(check_sizes("input", inputs, count));
  std::vector<NamedShape> shapes;
  for (size_t i = 0; i < count; ++i) {
    const intarsia_tensor& from = element(inputs, i);
    if (from.name == nullptr) return fail("an input has no name");
    if (from.rank > 0 && from.shape == nullptr)
      return fail("input '{}' has a null shape, rank {}", from.name, from.rank);
    shapes.push_back({from.name, Shape(from.shape, from.shape + from.rank)});
  }
  return shapes;
}

Status check_outputs(const intarsia_shape* outputs, size_t count) {
  if (count > 0 && outputs == nullptr) return fail("{} outputs at a null pointer", count);
  for (size_t i = 0; i < count; ++i) {
    const auto& output = element(const_cast<intarsia_shape*>(outputs), i);
    TRY(check_size<intarsia_shape>(output.struct_size, "an output's shape"));
    if (output.struct_size != outputs->struct_size)
      return fail("output {} has struct_size {}, want {} as the first", i, output.struct_size,
                  outputs->struct_size);
    if (output.name == nullptr) return fail("an output has no name");
  }
  return {};
}

/// Finds the shape of each wanted output, and checks that it has room.
Result<std::vector<const OutputShape*>> choose_shapes(const fbs::FunctionT& function,
                                                      const std::vector<OutputShape>& shapes,
                                                      intarsia_shape* outputs, size_t count) {
  ArgumentNames names("output", function, function.outputs);
  std::vector<const OutputShape*> chosen;
  for (size_t i = 0; i < count; ++i) {
    const intarsia_shape& output = element(outputs, i);
    const OutputShape& shape = shapes[TRY(names.find(output.name, i))];
    chosen.push_back(&shape);
    if (!shape || shape->empty()) continue;
    if (output.rank < static_cast<int64_t>(shape->size()))
      return fail("output '{}' has rank {}, and room for {} sizes", output.name, shape->size(), output.rank);
    if (output.sizes == nullptr) return fail("output '{}' has no memory for its sizes", output.name);
  }
  return chosen;
}

void write_shape(const OutputShape& shape, intarsia_shape& to) {
  to.rank = shape ? static_cast<int64_t>(shape->size()) : -1;
  if (shape) std::ranges::copy(*shape, to.sizes);
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_program_output_shapes(const intarsia_program* program, const char* function,
                                               const intarsia_tensor* inputs, size_t input_count,
                                               intarsia_shape* outputs, size_t output_count) {
  return guarded([&]() -> Status {
    if (program == nullptr) return fail("the program is a null pointer");
    const fbs::ProgramT& description = program->loaded->description();
    const fbs::FunctionT& called =
        *description.functions[TRY(find_function(description, function == nullptr ? "" : function))];
    const std::vector<NamedShape> given = TRY(read_shapes(inputs, input_count));
    TRY(check_outputs(outputs, output_count));
    const std::vector<OutputShape> shapes = TRY(find_output_shapes(called, given));
    const auto chosen = TRY(choose_shapes(called, shapes, outputs, output_count));
    for (size_t i = 0; i < output_count; ++i) write_shape(*chosen[i], element(outputs, i));
    return {};
  });
}
