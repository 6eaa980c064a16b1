// Translation of TensorFlow's operators to our operators with the same meaning.
#pragma once

#include <span>
#include <string_view>

#include "graph/graph.h"
#include "translate/translation.h"

namespace intarsia {

/// Checks for a node of a TensorFlow model: domain "tensorflow".
bool is_tensorflow(const Node& node);

/// Translates the node to a small graph: its inputs are those that are not constants, its outputs the node's
/// (all that exist, in order), with the same names. Fails with the reason if the operator, these attributes
/// or unknown shapes have no translation.
///   Conv2D(x: NHWC, w: HWIO)   ->   Transpose(Conv(Transpose(x), Transpose(w)))
Result<Graph> translate_node(const Graph& graph, NodeId node);

/// Translates all nodes of a TensorFlow graph; inputs and outputs keep order, names and types.
Result<Graph> translate_graph(const Graph& graph);

/// Returns the names of the operators that have a rule, sorted.
std::vector<std::string_view> translated_operators();

}  // namespace intarsia
