// Computes at compile time what does not depend on the inputs' data.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"

namespace intarsia {

/// Runs one node on known inputs (null: omitted); fails when it has no kernel for them.
using Evaluate = std::function<Result<std::vector<Tensor>>(const Node&, std::span<const Tensor* const>)>;

/// The outputs of a node whose types are inferred, where they are known: all its inputs are constants, or it
/// is Shape or Size, which need only their input's type, or it takes known elements out of a shape that is
/// known in part (known_elements.h). Nothing for random nodes, for those that would turn small constants into
/// over a megabyte, and for what `evaluate` cannot compute. `graph` is as before when it returns.
std::optional<std::vector<Tensor>> fold_node(Graph& graph, NodeId node, const Evaluate& evaluate);

/// Makes the first outputs of the node constants of the same names. The node keeps none of them.
void detach_outputs(Graph& graph, NodeId node, std::vector<Tensor> outputs);

}  // namespace intarsia
