// Translation of the operators of frameworks to our operators with the same meaning: TensorFlow's, and those
// that ONNX Runtime adds to ONNX.
#pragma once

#include <functional>
#include <string_view>

#include "graph/graph.h"
#include "translate/translation.h"

namespace intarsia {

/// Checks for a node of a TensorFlow model: domain "tensorflow".
bool is_tensorflow(const Node& node);

/// Checks for a node of a framework's own operators: TensorFlow's, or one of ONNX Runtime's that has a rule.
bool is_foreign(const Node& node);

/// Translates the node to a small graph: its inputs are those that are not constants, its outputs the node's
/// (all that exist, in order), with the same names. Fails with the reason if the operator, these attributes
/// or unknown shapes have no translation.
///   Conv2D(x: NHWC, w: HWIO)   ->   Transpose(Conv(Transpose(x), Transpose(w)))
Result<Graph> translate_node(const Graph& graph, NodeId node);

/// Translates the chosen nodes of a graph, which are foreign; others, inputs and outputs stay as they are.
Result<Graph> translate_graph(const Graph& graph, const std::function<bool(NodeId)>& is_chosen);

/// Returns the names of TensorFlow's operators that have a rule, sorted.
std::vector<std::string_view> translated_operators();

}  // namespace intarsia
