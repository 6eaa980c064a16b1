// A model in TensorFlow's own format opened in TensorFlow with one set of inputs, to be run repeatedly.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/tensorflow/session.h"
#include "graph/graph.h"
#include "tensorflow/saved_model_source.h"

namespace intarsia::tf {

/// Location of a model, and its inputs and outputs as users see them.
struct ModelLocation {
  SavedModelFiles files;  // path of a frozen GraphDef alone, if it has no tags
  std::vector<std::pair<std::string, std::string>> inputs, outputs;  // name to users, tensor in the graph
  std::vector<std::string> op_libraries;
};

class OpenedModel {
 public:
  /// Opens a model with one tensor for each of its inputs, in any order; only strings are copied. Fails for
  /// inputs that are missing or unknown, and with TensorFlow's own message.
  static Result<OpenedModel> open(const ModelLocation& model, std::span<const NamedValue> inputs,
                                  int threads);

  /// Opens a graph of TensorFlow's operators with its inputs, in order; the outputs have its values' names.
  static Result<OpenedModel> open_graph(const Graph& graph, std::span<const NamedValue> inputs,
                                        const std::vector<std::string>& op_libraries, int threads);

  Status run();

  /// Returns the outputs of the last run, in the model's order; a second call returns none.
  Result<std::vector<NamedValue>> take_outputs();

  const std::string& version() const { return session_->library().version(); }

 private:
  OpenedModel() = default;
  Status set_inputs(const ModelLocation& model, std::span<const NamedValue> inputs);

  std::unique_ptr<Session> session_;
  std::vector<NamedValue> given_;  // keeps their memory alive
  std::vector<OwnedTensor> fed_, made_;
  std::vector<TF_Output> inputs_, outputs_;
  std::vector<std::string> output_names_;
};

}  // namespace intarsia::tf
