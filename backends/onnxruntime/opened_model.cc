#include "backends/onnxruntime/opened_model.h"

#include <algorithm>

#include "backends/onnxruntime/opaque_values.h"
#include "base/files/regular_file.h"

namespace intarsia::ort {
namespace {

std::string list_names(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Returns one value for each of the model's inputs.
Result<std::vector<OwnedValue>> wrap_inputs(const ModelSession& session, std::span<const NamedValue> inputs) {
  for (const NamedValue& input : inputs) {
    if (std::ranges::none_of(session.inputs(), [&](const Port& port) { return port.name == input.name; })) {
      return fail("the model has no input '{}'; its inputs are: {}", input.name,
                  list_names(session.inputs()));
    }
  }
  std::vector<OwnedValue> values;
  for (const Port& port : session.inputs()) {
    const auto at = std::ranges::find(inputs, port.name, &NamedValue::name);
    if (at == inputs.end()) return fail("input '{}' is missing", port.name);
    values.push_back(
        TRY(with_context(wrap_tensor(session.library(), at->tensor.view()), "input '{}'", port.name)));
  }
  return values;
}

Status append_output(const ModelSession& session, const Port& port, OwnedValue value,
                     std::vector<NamedValue>& outputs) {
  const std::shared_ptr<void> owner = share_value(std::move(value));
  if (port.kind == Kind::tensor) {
    outputs.push_back({port.name, TRY(view_tensor(session.library(), owner))});
    return {};
  }
  const std::vector<Tensor> elements = TRY(unpack_opaque(owner, {})).tensors;
  for (size_t i = 0; i < elements.size(); ++i)
    outputs.push_back({fmt::format("{}[{}]", port.name, i), elements[i]});
  return {};
}

}  // namespace

Result<OpenedModel> OpenedModel::open_session(std::shared_ptr<const ModelSession> session,
                                              std::span<const NamedValue> inputs) {
  OpenedModel model;
  model.session_ = std::move(session);
  model.inputs_ = TRY(wrap_inputs(*model.session_, inputs));
  return model;
}

Result<OpenedModel> OpenedModel::open(const std::string& model_path, std::span<const NamedValue> inputs,
                                      const SessionSettings& settings) {
  TRY(check_regular_file(model_path));
  return open_session(TRY(ModelSession::from_file(model_path, settings)), inputs);
}

Result<OpenedModel> OpenedModel::open_bytes(std::string_view model, std::span<const NamedValue> inputs,
                                            const SessionSettings& settings) {
  return open_session(TRY(ModelSession::from_bytes(model, settings)), inputs);
}

Status OpenedModel::run() {
  std::vector<const Value*> inputs;
  for (const OwnedValue& input : inputs_) inputs.push_back(input.get());
  std::vector<Value*> made(session_->outputs().size(), nullptr);
  outputs_.clear();
  TRY(session_->run(inputs, made));
  for (Value* value : made) outputs_.emplace_back(value, ReleaseValue{&session_->library()});
  return {};
}

Result<std::vector<NamedValue>> OpenedModel::take_outputs() {
  std::vector<NamedValue> outputs;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Port& port = session_->outputs()[i];
    TRY(with_context(append_output(*session_, port, std::move(outputs_[i]), outputs), "output '{}'",
                     port.name));
  }
  outputs_.clear();
  return outputs;
}

}  // namespace intarsia::ort
