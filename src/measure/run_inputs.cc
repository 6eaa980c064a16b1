#include "measure/run_inputs.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/fill_tensor.h"
#include "program/open_sizes.h"
#include "runtime/allocate_value.h"

namespace intarsia {
namespace {

/// Appends the elements of a value that is not a tensor, from the backend whose region produces it.
Status append_parts(const BoundProgram& program, uint32_t id, const NamedTensor& output,
                    std::vector<NamedValue>& values) {
  const fbs::FunctionT& function = *program.functions[0].function;
  const auto makes_it = [&](const auto& step) {
    return step->kind == fbs::StepKind::run && std::ranges::find(step->outputs, id) != step->outputs.end();
  };
  const auto step = std::ranges::find_if(function.steps, makes_it);
  const RunBackend* backend =
      step == function.steps.end() ? nullptr : TRY(program.program->backend((*step)->region));
  if (backend == nullptr || backend->unpack == nullptr)
    return fail("output '{}' is not a tensor and cannot be compared", output.name);
  const std::string_view encoded = as_text(std::span(function.values[id]->encoded_type));
  const OpaqueParts parts = TRY(backend->unpack(output.owner, encoded));
  for (size_t i = 0; i < parts.tensors.size(); ++i)
    values.push_back({fmt::format("{}[{}]", output.name, i), parts.tensors[i]});
  return {};
}

/// Fills a tensor as the input of this number, which tells the seed.
Status fill(const fbs::ValueT& value, const Tensor& tensor, uint64_t number) {
  return with_context(fill_tensor(tensor.view(), number, value.index_limit), "input '{}'", value.name);
}

}  // namespace

Result<Tensor> fill_input(const fbs::ValueT& value, uint64_t seed) {
  const std::optional<Tensor> tensor = allocate_value(value);
  if (!tensor) return fail("input '{}' cannot be filled, give it", value.name);
  TRY(fill(value, *tensor, seed));
  return *tensor;
}

Result<std::vector<NamedValue>> fill_inputs(const fbs::FunctionT& function, std::span<const int64_t> sizes) {
  std::vector<NamedValue> inputs;
  for (uint32_t id : function.inputs) {
    const fbs::ValueT& value = *function.values[id];
    const Shape shape = TRY(with_context(shape_at(function, value, sizes), "input '{}'", value.name));
    if (value.dtype == 0) return fail("input '{}' cannot be filled, give it", value.name);
    TRY(with_context(checked_elements(shape), "input '{}'", value.name));
    inputs.push_back({value.name, Tensor(static_cast<DType>(value.dtype), shape)});
    TRY(fill(value, inputs.back().tensor, inputs.size() - 1));
  }
  return inputs;
}

Result<std::vector<NamedValue>> complete_inputs(const fbs::FunctionT& function,
                                                std::span<const NamedValue> given) {
  std::vector<NamedValue> inputs;
  for (uint32_t id : function.inputs) {
    const fbs::ValueT& value = *function.values[id];
    const auto known = std::ranges::find(given, value.name, &NamedValue::name);
    inputs.push_back({value.name, known != given.end() ? known->tensor : TRY(fill_input(value, inputs.size()))});
  }
  return inputs;
}

Status check_inputs(const fbs::ProgramT& program, std::span<const NamedValue> given) {
  for (const NamedValue& one : given) {
    const auto has_it = [&](const auto& function) {
      return std::ranges::any_of(function->inputs,
                                 [&](uint32_t id) { return function->values[id]->name == one.name; });
    };
    if (std::ranges::none_of(program.functions, has_it))
      return fail("no input '{}': the model has none of this name", one.name);
  }
  return {};
}

Result<std::vector<NamedValue>> run_on_inputs(Session& session, const fbs::FunctionT& function,
                                              const std::vector<NamedValue>& inputs) {
  std::vector<NamedTensor> from, to;
  for (const NamedValue& input : inputs) from.push_back({input.name, input.tensor.view(), nullptr});
  for (uint32_t id : function.outputs) to.push_back({function.values[id]->name, {}, nullptr});
  TRY(session.run(function.name, from, to));
  std::vector<NamedValue> outputs;
  for (size_t i = 0; i < to.size(); ++i) {
    if (function.values[function.outputs[i]]->dtype == 0) {
      TRY(append_parts(session.program(), function.outputs[i], to[i], outputs));
    } else {
      outputs.push_back({std::string(to[i].name), Tensor(to[i].tensor)});
    }
  }
  return outputs;
}

}  // namespace intarsia
