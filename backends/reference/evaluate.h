// Evaluates one node with its reference kernel: constant folding, and the oracle of tests.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace intarsia::reference {

/// The node's outputs in new memory; an omitted output is an empty Tensor. `inputs[i]` is null if the node's
/// i-th input is omitted. Fails if there is no kernel, or the kernel refuses dtypes, shapes or values.
Result<std::vector<Tensor>> evaluate_node(const Node& node, std::span<const Tensor* const> inputs);

}  // namespace intarsia::reference
