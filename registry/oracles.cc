#include "api/oracles.h"

#include <algorithm>

#include "backends/onnxruntime/evaluate.h"
#include "backends/onnxruntime/library.h"
#include "backends/reference/evaluate.h"
#include "backends/tensorflow/evaluate.h"
#include "backends/tensorflow/saved_model.h"
#include "import/import_model.h"
#include "registry/tensorflow_model.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

using Outputs = Result<std::vector<NamedValue>>;
using Inputs = std::span<const NamedValue>;

Oracle onnxruntime_oracle() {
  return {"onnxruntime",
          [](const std::string& model_path, const std::string&, Inputs inputs) {
            return evaluate_with_onnxruntime(model_path, inputs);
          },
          [](const Graph& graph, Inputs inputs) { return evaluate_with_onnxruntime(graph, inputs); }};
}

/// Returns the signature that a function of a SavedModel is; empty for other models, which have none.
std::string signature_of(const std::string& model_path, const std::string& function) {
  return find_model_format(model_path) == ModelFormat::saved_model ? function : "";
}

Outputs run_tensorflow(const std::string& model_path, const std::string& signature,
                       const std::vector<std::string>& op_libraries, Inputs inputs) {
  tf::OpenedModel model = TRY(open_tensorflow_model(model_path, signature, op_libraries, inputs, 1));
  TRY(model.run());
  return model.take_outputs();
}

Oracle tensorflow_oracle(const std::vector<std::string>& op_libraries) {
  return {"tensorflow",
          [op_libraries](const std::string& model_path, const std::string& function, Inputs inputs) {
            return run_tensorflow(model_path, signature_of(model_path, function), op_libraries, inputs);
          },
          [op_libraries](const Graph& graph, Inputs inputs) {
            return evaluate_with_tensorflow(graph, inputs, op_libraries);
          }};
}

Outputs run_reference(const Graph& graph, Inputs inputs) {
  if (std::ranges::none_of(graph.nodes, is_foreign))
    return evaluate_graph(graph, inputs, reference::evaluate_node);
  const auto is_chosen = [&](NodeId id) { return is_foreign(graph.node(id)); };
  return evaluate_graph(TRY(translate_graph(graph, is_chosen)), inputs, reference::evaluate_node);
}

Oracle reference_oracle(const std::vector<std::string>& op_libraries) {
  return {
      "reference",
      [op_libraries](const std::string& model_path, const std::string& function, Inputs inputs) -> Outputs {
        return run_reference(TRY(import_model(model_path, {signature_of(model_path, function),
                                                           make_tensorflow_source(op_libraries)})),
                             inputs);
      },
      run_reference};
}

/// Returns the oracle of the framework that a model comes from.
Result<Oracle> framework_oracle(bool is_onnx, const std::vector<std::string>& op_libraries) {
  if (is_onnx) {
    TRY(ort::Library::get());
    return onnxruntime_oracle();
  }
  TRY(tf::Library::get());
  return tensorflow_oracle(op_libraries);
}

/// Returns an oracle that the user named, whose errors say so.
Oracle named_oracle(Oracle oracle) {
  oracle.run = [run = std::move(oracle.run), name = oracle.name](const std::string& model_path,
                                                                 const std::string& function, Inputs inputs) {
    return with_context(run(model_path, function, inputs), "--against {}", name);
  };
  return oracle;
}

}  // namespace

Result<Oracle> make_oracle(const std::string& name, const std::string& model_path, bool allow_framework,
                           const std::vector<std::string>& op_libraries) {
  const bool is_onnx = find_model_format(model_path) == ModelFormat::onnx;
  const std::string own = is_onnx ? "onnxruntime" : "tensorflow";
  if (name == "reference") return named_oracle(reference_oracle(op_libraries));
  if (!name.empty() && name != own)
    return fail("--against {}: want {} or reference for this kind of model", name, own);
  if (name.empty() && !allow_framework) return reference_oracle(op_libraries);
  Result<Oracle> oracle = framework_oracle(is_onnx, op_libraries);
  if (!name.empty()) return named_oracle(TRY(with_context(std::move(oracle), "--against {}", name)));
  if (!oracle) return reference_oracle(op_libraries);
  oracle->substitute = std::make_shared<const Oracle>(reference_oracle(op_libraries));
  return oracle;
}

}  // namespace intarsia
