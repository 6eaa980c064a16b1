// Stages of a pipeline, from the values at which the user cuts.
#pragma once

#include <string>
#include <vector>

#include "plan/placement.h"

namespace intarsia {

/// Returns the stage of each node, in an order in which values flow to later stages only: each cut ends a
/// stage, which holds the nodes that its value depends on and no earlier stage has; nodes that no cut depends
/// on are the last stage. So values may skip stages. Cuts are taken in the order in which their values are
/// made. Errors: no such value, one that no node makes, or a stage would be empty.
///   x -> a -> b -> c, cut at a:   {a} {b c}
Result<std::vector<uint32_t>> cut_graph(const Graph& graph, const std::vector<std::string>& values);

/// Checks that values flow to no earlier stage, and that nodes that one region must hold share a stage.
Status verify_stage_order(const Graph& graph, const Placement& placement);

/// Returns the number of stages that the nodes are in.
uint32_t count_stages(const Placement& placement);

}  // namespace intarsia
