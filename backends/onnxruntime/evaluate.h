// Runs a whole model in ONNX Runtime: the oracle of `check --against onnxruntime`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"
#include "graph/graph.h"

namespace intarsia {

/// Returns the model's outputs, in its order, for one tensor per input (any order). An output that is a
/// sequence gives its elements as "NAME[0]", "NAME[1]"; an optional without a value gives nothing. Fails for
/// inputs that are missing, unknown or not tensors, and with ONNX Runtime's own message.
Result<std::vector<NamedValue>> evaluate_with_onnxruntime(const std::string& model_path,
                                                          std::span<const NamedValue> inputs,
                                                          int threads = 1);

/// Evaluates a graph of ONNX operators, both standard and foreign ones, in the same way.
Result<std::vector<NamedValue>> evaluate_with_onnxruntime(const Graph& graph,
                                                          std::span<const NamedValue> inputs,
                                                          int threads = 1);

}  // namespace intarsia
