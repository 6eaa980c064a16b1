// What nodes of TensorFlow mean in operators of ours: the one place that asks.
#pragma once

#include "passes/fold_constants.h"

namespace intarsia {

enum class Weights {
  kept,
  by_type  // constants over 64 KB count by type alone, and nothing is computed from them
};

/// A TensorFlow node as a small graph (translate_node), with types, and constants for what is known. Fails
/// with the reason when it has no translation, or one that does not fit its inputs.
Result<Graph> translated_node(const Graph& graph, NodeId node, const Evaluate& evaluate, Weights weights);

/// A region with all of TensorFlow's nodes translated, in the same way.
Result<Graph> translated_region(const Graph& region, const Evaluate& evaluate);

}  // namespace intarsia
