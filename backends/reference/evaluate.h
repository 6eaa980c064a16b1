// Evaluation of one node with its reference kernel: constant folding, and the oracle of tests.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace intarsia::reference {

/// Returns the node's outputs in new memory; an omitted output is an empty Tensor. `inputs[i]` is null if the
/// node's i-th input is omitted. Fails if no kernel exists, or if it refuses dtypes, shapes or values.
Result<std::vector<Tensor>> evaluate_node(const Node& node, std::span<const Tensor* const> inputs);

}  // namespace intarsia::reference
