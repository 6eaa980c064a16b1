// Evaluation of a graph node by node, the slow and simple way: an oracle.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "passes/fold_constants.h"

namespace intarsia {

/// Returns the graph's outputs for one tensor per input, in any order. `evaluate` runs one node; a value is
/// dropped after its last reader. Errors: an input is missing, a node has subgraphs, or as `evaluate`.
Result<std::vector<NamedValue>> evaluate_graph(const Graph& graph, std::span<const NamedValue> inputs,
                                               const Evaluate& evaluate);

}  // namespace intarsia
