// What is known of sizes that are computed when the model runs.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace intarsia {

/// The elements of a value that an operator makes from shapes, where the types tell them; nothing for all
/// other values.
///   %s = Shape(%x : f32[4,?,32])              ->   {4, nothing, 32}
///   %t = StringSplitV2(%x : string[4]):2      ->   {4, nothing}, rows and the most words of one
std::optional<std::vector<std::optional<int64_t>>> known_elements(const Graph& graph, ValueId value);

/// True for operators that only choose and move elements of their first input, by what the others say: no
/// element of the result hangs on one of the input's that it is not.
bool only_moves_elements(const Node& node);

}  // namespace intarsia
