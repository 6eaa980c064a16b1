// Evaluation of a graph of TensorFlow's operators in TensorFlow: the oracle for values within a model of
// `check --bisect`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace intarsia {

/// Returns the graph's outputs, in its order, for one tensor per input (any order). `op_libraries` are loaded
/// first. Fails for an input that is missing, an output that is not a tensor, and with TensorFlow's own
/// message.
Result<std::vector<NamedValue>> evaluate_with_tensorflow(const Graph& graph,
                                                         std::span<const NamedValue> inputs,
                                                         const std::vector<std::string>& op_libraries);

}  // namespace intarsia
