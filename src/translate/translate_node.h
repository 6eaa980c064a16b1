// Translation of operators to others with the same meaning: TensorFlow's, those that ONNX Runtime adds to
// ONNX, and those of ONNX that are made of simpler ones.
#pragma once

#include <functional>
#include <string_view>

#include "graph/graph.h"
#include "translate/translation.h"

namespace intarsia {

/// Checks for a node of a TensorFlow model: domain "tensorflow".
bool is_tensorflow(const Node& node);

/// Checks for a node that a target which has no kernel for it may get as others.
bool has_translation(const Node& node);

/// Checks for a node that only its translation explains: TensorFlow's, or one with a rule that the op table
/// does not have.
bool is_foreign(const Node& node);

/// Translates the node to a small graph: its inputs are those that are not constants, its outputs the node's
/// (all that exist, in order), with the same names. Fails with the reason if the operator, these attributes
/// or unknown shapes have no translation.
///   Conv2D(x: NHWC, w: HWIO)   ->   Transpose(Conv(Transpose(x), Transpose(w)))
Result<Graph> translate_node(const Graph& graph, NodeId node);

/// Translates the chosen nodes of a graph, which have translations; others, inputs and outputs stay as they
/// are.
Result<Graph> translate_graph(const Graph& graph, const std::function<bool(NodeId)>& is_chosen);

/// Returns the names of TensorFlow's operators that have a rule, sorted.
std::vector<std::string_view> translated_operators();

/// Returns domain and name of ONNX's operators that have a rule, sorted.
std::vector<std::pair<std::string_view, std::string_view>> decomposed_operators();

}  // namespace intarsia
