#include "backends/onnxruntime/evaluate.h"

#include "backends/onnxruntime/opened_model.h"
#include "onnx/write_onnx_model.h"

namespace intarsia {

Result<std::vector<NamedValue>> evaluate_with_onnxruntime(const std::string& model_path,
                                                          std::span<const NamedValue> inputs, int threads) {
  ort::OpenedModel model =
      TRY(with_context(ort::OpenedModel::open(model_path, inputs, {.threads = threads}), "{}", model_path));
  TRY(with_context(model.run(), "{} in ONNX Runtime {}", model_path, model.version()));
  return with_context(model.take_outputs(), "{} in ONNX Runtime {}", model_path, model.version());
}

Result<std::vector<NamedValue>> evaluate_with_onnxruntime(const Graph& graph,
                                                          std::span<const NamedValue> inputs, int threads) {
  const OnnxModel written = TRY(write_onnx_model(graph));
  std::vector<ConstTensorView> constants;
  for (const Tensor& constant : written.constants) constants.push_back(constant.view());
  const ort::SessionSettings settings{
      .threads = threads, .constant_names = written.constant_names, .constants = constants};
  ort::OpenedModel model = TRY(ort::OpenedModel::open_bytes(written.bytes, inputs, settings));
  TRY(model.run());
  return model.take_outputs();
}

}  // namespace intarsia
