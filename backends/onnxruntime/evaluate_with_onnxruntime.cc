#include "backends/onnxruntime/evaluate_with_onnxruntime.h"

#include <algorithm>

#include "backends/onnxruntime/opaque_values.h"
#include "backends/onnxruntime/ort_session.h"

namespace intarsia {
namespace {

using ort::ModelSession;
using ort::OwnedValue;

std::string list_names(const std::vector<ort::Port>& ports) {
  std::vector<std::string> names;
  for (const ort::Port& port : ports) names.push_back(port.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// One value for each of the model's inputs.
Result<std::vector<OwnedValue>> wrap_inputs(const ModelSession& session,
                                            std::span<const ort::Argument> inputs) {
  for (const ort::Argument& input : inputs) {
    if (std::ranges::none_of(session.inputs(),
                             [&](const ort::Port& port) { return port.name == input.name; })) {
      return fail("the model has no input '{}'; its inputs are: {}", input.name,
                  list_names(session.inputs()));
    }
  }
  std::vector<OwnedValue> values;
  for (const ort::Port& port : session.inputs()) {
    const auto at = std::ranges::find(inputs, port.name, &ort::Argument::name);
    if (at == inputs.end()) return fail("input '{}' is missing", port.name);
    values.push_back(
        TRY(with_context(ort::wrap_tensor(session.library(), at->tensor.view()), "input '{}'", port.name)));
  }
  return values;
}

Status append_output(const ModelSession& session, const ort::Port& port, OwnedValue value,
                     std::vector<ort::Argument>& outputs) {
  const std::shared_ptr<void> owner = ort::share_value(std::move(value));
  if (port.kind == ort::Kind::tensor) {
    outputs.push_back({port.name, TRY(ort::view_tensor(session.library(), owner))});
    return {};
  }
  const std::vector<Tensor> elements = TRY(unpack_opaque(owner, {})).tensors;
  for (size_t i = 0; i < elements.size(); ++i)
    outputs.push_back({fmt::format("{}[{}]", port.name, i), elements[i]});
  return {};
}

Result<std::vector<ort::Argument>> evaluate(const ModelSession& session,
                                            std::span<const ort::Argument> inputs) {
  const std::vector<OwnedValue> owned = TRY(wrap_inputs(session, inputs));
  std::vector<const ort::Value*> values;
  for (const OwnedValue& value : owned) values.push_back(value.get());
  std::vector<ort::Value*> made(session.outputs().size(), nullptr);
  TRY(session.run(values, made));
  std::vector<OwnedValue> results;
  for (ort::Value* value : made) results.emplace_back(value, ort::ReleaseValue{&session.library()});
  std::vector<ort::Argument> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    const ort::Port& port = session.outputs()[i];
    TRY(with_context(append_output(session, port, std::move(results[i]), outputs), "output '{}'", port.name));
  }
  return outputs;
}

}  // namespace

Result<std::vector<ort::Argument>> evaluate_with_onnxruntime(const std::string& model_path,
                                                             std::span<const ort::Argument> inputs,
                                                             int threads) {
  const auto session =
      TRY(with_context(ModelSession::from_file(model_path, {.threads = threads}), "{}", model_path));
  return with_context(evaluate(*session, inputs), "{} in ONNX Runtime {}", model_path,
                      session->library().version());
}

}  // namespace intarsia
