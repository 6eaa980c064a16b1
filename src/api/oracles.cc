#include "api/oracles.h"

#include <algorithm>

#include "api/tensorflow_model.h"
#include "backends/onnxruntime/evaluate_with_onnxruntime.h"
#include "backends/onnxruntime/ort_library.h"
#include "backends/reference/evaluate.h"
#include "backends/tensorflow/saved_model.h"
#include "import/import_model.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

Result<std::vector<NamedValue>> run_onnxruntime(const std::string& model_path, const std::string&, std::span<const NamedValue> inputs) {
  return evaluate_with_onnxruntime(model_path, inputs);
}

Oracle tensorflow_oracle(const std::vector<std::string>& op_libraries) {
  return {"tensorflow", [op_libraries](const std::string& model_path, const std::string& function, std::span<const NamedValue> inputs) -> Result<std::vector<NamedValue>> {
            const std::string signature = find_model_format(model_path) == ModelFormat::saved_model ? function : "";
            tf::OpenedModel model = TRY(open_tensorflow_model(model_path, signature, op_libraries, inputs, 1));
            TRY(model.run());
            return model.take_outputs();
          }};
}

Oracle reference_oracle(const std::vector<std::string>& op_libraries) {
  return {"reference", [op_libraries](const std::string& model_path, const std::string& function, std::span<const NamedValue> inputs) -> Result<std::vector<NamedValue>> {
            const std::string signature = find_model_format(model_path) == ModelFormat::saved_model ? function : "";
            Graph graph = TRY(import_model(model_path, {signature, make_tensorflow_source(op_libraries)}));
            if (std::ranges::any_of(graph.nodes, is_tensorflow)) graph = TRY(translate_graph(graph));
            return evaluate_graph(graph, inputs, reference::evaluate_node);
          }};
}

Status find_framework(const std::string& name) {
  if (name == "tensorflow") TRY(tf::Library::get());
  else TRY(ort::Library::get());
  return {};
}

}  // namespace

Result<Oracle> make_oracle(const std::string& name, const std::string& model_path, bool allow_framework,
                           const std::vector<std::string>& op_libraries) {
  const bool is_onnx = find_model_format(model_path) == ModelFormat::onnx;
  const std::string own = is_onnx ? "onnxruntime" : "tensorflow";
  if (name == own || (name.empty() && allow_framework)) {
    if (!allow_framework) return fail("--against {} contradicts --fallback none: it is a framework", name);
    const Status found = find_framework(own);
    if (found) return is_onnx ? Oracle{"onnxruntime", run_onnxruntime} : tensorflow_oracle(op_libraries);
    if (!name.empty()) return fail("--against {}: {}", name, found.error().message);
  }
  if (name == "reference" || name.empty()) return reference_oracle(op_libraries);
  return fail("--against {}: want {} or reference for this kind of model", name, own);
}

}  // namespace intarsia
