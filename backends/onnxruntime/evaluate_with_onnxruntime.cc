#include "backends/onnxruntime/evaluate_with_onnxruntime.h"

#include "backends/onnxruntime/opened_model.h"

namespace intarsia {

Result<std::vector<NamedValue>> evaluate_with_onnxruntime(const std::string& model_path,
                                                          std::span<const NamedValue> inputs, int threads) {
  ort::OpenedModel model =
      TRY(with_context(ort::OpenedModel::open(model_path, inputs, {.threads = threads}), "{}", model_path));
  TRY(with_context(model.run(), "{} in ONNX Runtime {}", model_path, model.version()));
  return with_context(model.take_outputs(), "{} in ONNX Runtime {}", model_path, model.version());
}

}  // namespace intarsia
