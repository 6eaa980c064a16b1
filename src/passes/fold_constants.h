// Folding of values that do not depend on the inputs' data.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"

namespace intarsia {

/// Runs one node on known inputs (null for omitted ones); fails if it has no kernel for them.
using Evaluate = std::function<Result<std::vector<Tensor>>(const Node&, std::span<const Tensor* const>)>;

/// Returns the outputs of a node with inferred types where they are known: their elements are sizes that are
/// numbers (ValueType::elements), or all its inputs are constants. Returns nullopt for random nodes, for
/// those that would turn small constants into over a megabyte, and where `evaluate` fails.
std::optional<std::vector<Tensor>> fold_node(const Graph& graph, NodeId node, const Evaluate& evaluate);

/// Makes the first outputs of the node constants of the same names and removes them from the node.
void detach_outputs(Graph& graph, NodeId node, std::vector<Tensor> outputs);

}  // namespace intarsia
