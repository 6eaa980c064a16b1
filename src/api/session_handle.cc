#include "api/session_handle.h"

#include <algorithm>

namespace intarsia::api {
namespace {

Result<std::vector<BoundaryValue>> find_boundary_values(const LoadedProgram& program,
                                                        const fbs::FunctionT& function, bool inputs) {
  std::vector<BoundaryValue> boundary;
  for (uint32_t id : inputs ? function.inputs : function.outputs) {
    BoundaryValue entry{function.values[id].get(), nullptr};
    for (const auto& step : function.steps) {
      const std::vector<uint32_t>& ids = inputs ? step->inputs : step->outputs;
      if (step->kind != fbs::StepKind::run || std::ranges::find(ids, id) == ids.end()) continue;
      entry.backend = TRY(program.backend(step->region));
    }
    boundary.push_back(entry);
  }
  return boundary;
}

Result<FunctionBoundary> find_boundary(const LoadedProgram& program, const fbs::FunctionT& function) {
  return FunctionBoundary{function.name, TRY(find_boundary_values(program, function, true)),
                          TRY(find_boundary_values(program, function, false))};
}

/// Finds a boundary, which only opaque values need; null for an unknown function, which the run reports.
const FunctionBoundary* find_boundary(const intarsia_session& session, std::string_view function) {
  for (const FunctionBoundary& boundary : session.functions) {
    if (boundary.name == function || (function.empty() && session.functions.size() == 1)) return &boundary;
  }
  return nullptr;
}

/// Finds a value on the boundary; empty if the function does not have it, which the run reports.
BoundaryValue find_value(const FunctionBoundary* boundary, bool is_input, const intarsia_tensor& tensor) {
  if (boundary == nullptr) return {};
  const BoundaryValue* found =
      FunctionBoundary::find(is_input ? boundary->inputs : boundary->outputs, tensor.name);
  return found == nullptr ? BoundaryValue{} : *found;
}

Result<std::vector<FunctionBoundary>> find_boundaries(const Session& session) {
  std::vector<FunctionBoundary> boundaries;
  for (const BoundFunction& bound : session.program().functions)
    boundaries.push_back(TRY(find_boundary(*session.program().program, *bound.function)));
  return boundaries;
}

/// Runs the session; if a device is lost, an alternative reads the inputs anew, as opaque ones depend on it.
Status repeat_run(intarsia_session& session, std::string_view function, const intarsia_tensor* inputs,
                  size_t input_count, const intarsia_tensor* outputs, size_t output_count) {
  while (true) {
    TRY(read_session_inputs(session, function, inputs, input_count));
    for (size_t i = 0; i < output_count; ++i) TRY(read_output(element(outputs, i), session.outputs[i]));
    Status ran = session.session.session().run(function, std::span(session.inputs).first(input_count),
                                               std::span(session.outputs).first(output_count));
    if (ran || !session.session.fall_back(function, ran.error())) return ran;
    session.functions = TRY(find_boundaries(session.session.session()));
  }
}

}  // namespace

Result<std::unique_ptr<intarsia_session>> open_session(const std::shared_ptr<const LoadedProgram>& program,
                                                       const BindOptions& options) {
  auto made = std::make_unique<intarsia_session>(TRY(FallbackSession::open(program, options)));
  made->functions = TRY(find_boundaries(made->session.session()));
  return made;
}

Status read_session_inputs(intarsia_session& session, std::string_view function,
                           const intarsia_tensor* inputs, size_t input_count) {
  const FunctionBoundary* boundary = find_boundary(session, function);
  TRY(check_sizes("input", inputs, input_count));
  if (session.inputs.size() < input_count) session.inputs.resize(input_count);
  if (session.strings.size() < input_count) session.strings.resize(input_count);
  for (size_t i = 0; i < input_count; ++i) {
    const intarsia_tensor& from = element(inputs, i);
    const BoundaryValue at = find_value(boundary, true, from);
    TRY(read_input(from, at.backend, at.value, session.inputs[i], session.strings[i]));
  }
  return {};
}

Status run_session(intarsia_session& session, std::string_view function, const intarsia_tensor* inputs,
                   size_t input_count, intarsia_tensor* outputs, size_t output_count) {
  TRY(check_sizes("output", outputs, output_count));
  if (session.outputs.size() < output_count) session.outputs.resize(output_count);
  TRY(repeat_run(session, function, inputs, input_count, outputs, output_count));
  const FunctionBoundary* boundary = find_boundary(session, function);
  for (size_t i = 0; i < output_count; ++i) {
    intarsia_tensor& to = element(outputs, i);
    const BoundaryValue at = find_value(boundary, false, to);
    const Status written = caught([&] { return write_output(session.outputs[i], at.backend, at.value, to); });
    session.outputs[i].owner = nullptr;
    if (written) continue;
    for (size_t made = 0; made < i; ++made) release_tensor(element(outputs, made));
    return written;
  }
  return {};
}

}  // namespace intarsia::api
