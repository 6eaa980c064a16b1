// Known parts of sizes that are computed at run time.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace intarsia {

/// Returns the elements of a value that an operator computes from shapes, where the types determine them;
/// nullopt for all other values.
///   %s = Shape(%x : f32[4,?,32])              ->   {4, nullopt, 32}
///   %t = StringSplitV2(%x : string[4]):2      ->   {4, nullopt}, rows and the most words of one
std::optional<std::vector<std::optional<int64_t>>> known_elements(const Graph& graph, ValueId value);

/// Checks whether the operator only selects and moves elements of its first input, as its other inputs say:
/// each element of the result is one of that input and depends on no other.
bool only_moves_elements(const Node& node);

}  // namespace intarsia
