// A model file opened in ONNX Runtime with one set of inputs, to be run repeatedly.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/onnxruntime/session.h"

namespace intarsia::ort {

class OpenedModel {
 public:
  /// Opens a model with one tensor for each of its inputs, in any order; only strings are copied. Fails for
  /// inputs that are missing, unknown or not tensors, and with ONNX Runtime's own message.
  static Result<OpenedModel> open(const std::string& model_path, std::span<const NamedValue> inputs,
                                  const SessionSettings& settings);
  /// Opens a ModelProto in memory, which need not outlive the call; the constants of `settings` must.
  static Result<OpenedModel> open_bytes(std::string_view model, std::span<const NamedValue> inputs,
                                        const SessionSettings& settings);

  Status run();

  /// Returns the outputs of the last run, in the model's order; a second call returns none. An output that is
  /// a sequence gives its elements as "NAME[0]", "NAME[1]"; an optional without a value gives nothing.
  Result<std::vector<NamedValue>> take_outputs();

  const std::string& version() const { return session_->library().version(); }

 private:
  OpenedModel() = default;
  static Result<OpenedModel> open_session(std::shared_ptr<const ModelSession> session,
                                          std::span<const NamedValue> inputs);

  std::shared_ptr<const ModelSession> session_;
  std::vector<OwnedValue> inputs_, outputs_;
};

}  // namespace intarsia::ort
