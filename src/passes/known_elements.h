// What is known about sizes that are computed when the model runs.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace intarsia {

/// The elements of a value that an operator computes from shapes, where the types determine them; nothing for
/// all other values.
///   %s = Shape(%x : f32[4,?,32])              ->   {4, nothing, 32}
///   %t = StringSplitV2(%x : string[4]):2      ->   {4, nothing}, rows and the most words of one
std::optional<std::vector<std::optional<int64_t>>> known_elements(const Graph& graph, ValueId value);

/// True for operators that only select and move elements of their first input, as the others say: each
/// element of the result is one of that input and depends on no other.
bool only_moves_elements(const Node& node);

}  // namespace intarsia
