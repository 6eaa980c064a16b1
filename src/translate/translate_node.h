// TensorFlow's operators as operators of ours, where they mean the same.
#pragma once

#include <span>
#include <string_view>

#include "graph/graph.h"
#include "translate/translation.h"

namespace intarsia {

/// True for nodes of TensorFlow models: domain "tensorflow".
bool is_tensorflow(const Node& node);

/// The node as a small graph: its inputs are those that are not constants, its outputs the node's (all that
/// exist, in order), with the same names. Fails with the reason when the operator, these attributes or
/// unknown shapes have no translation.
///   Conv2D(x: NHWC, w: HWIO)   ->   Transpose(Conv(Transpose(x), Transpose(w)))
Result<Graph> translate_node(const Graph& graph, NodeId node);

/// A graph with all of TensorFlow's nodes translated; inputs and outputs keep order, names and types.
Result<Graph> translate_graph(const Graph& graph);

/// Names of the operators that have a rule, sorted.
std::vector<std::string_view> translated_operators();

}  // namespace intarsia
