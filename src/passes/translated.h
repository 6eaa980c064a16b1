// Translation of nodes to other operators; no other file asks for it.
#pragma once

#include "passes/fold_constants.h"

namespace intarsia {

enum class Weights {
  kept,
  by_type  // constants over 64 KB keep only their type, and nothing is computed from them
};

/// Returns a node as a small graph (translate_node), with types, and constants for known values.
/// Error: it has no translation, or one that does not fit its inputs; with the reason.
Result<Graph> translated_node(const Graph& graph, NodeId node, const Evaluate& evaluate, Weights weights);

/// Translates the chosen nodes of a region, which have translations, in the same way.
Result<Graph> translated_region(const Graph& region, const Evaluate& evaluate,
                                const std::function<bool(NodeId)>& is_chosen);

}  // namespace intarsia
