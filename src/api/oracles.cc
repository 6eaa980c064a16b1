#include "api/oracles.h"

#include "backends/onnxruntime/evaluate_with_onnxruntime.h"
#include "backends/onnxruntime/ort_library.h"
#include "backends/reference/evaluate.h"
#include "import/import_model.h"

namespace intarsia {
namespace {

Result<std::vector<NamedValue>> run_onnxruntime(const std::string& model_path,
                                                std::span<const NamedValue> inputs) {
  return evaluate_with_onnxruntime(model_path, inputs);
}

Result<std::vector<NamedValue>> run_reference(const std::string& model_path,
                                              std::span<const NamedValue> inputs) {
  return evaluate_graph(TRY(import_model(model_path)), inputs, reference::evaluate_node);
}

}  // namespace

Result<Oracle> make_oracle(const std::string& name, bool allow_framework) {
  const bool pick = name.empty();
  if (name == "onnxruntime" || (pick && allow_framework)) {
    if (!allow_framework) return fail("--against onnxruntime contradicts --fallback none: it is a framework");
    const Result<const ort::Library*> library = ort::Library::get();
    if (library) return Oracle{"onnxruntime", run_onnxruntime};
    if (!pick) return fail("--against onnxruntime: {}", library.error().message);
  }
  if (name == "reference" || pick) return Oracle{"reference", run_reference};
  return fail("--against {}: want onnxruntime or reference", name);
}

}  // namespace intarsia
