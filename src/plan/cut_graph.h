// Stages of a pipeline by the values at which the user cuts.
#pragma once

#include <string>
#include <vector>

#include "plan/place_nodes.h"

namespace intarsia {

/// By node its stage, in an order in which values only flow to later ones: each cut ends a stage, which holds
/// what its value depends on and no earlier stage has; what no cut depends on is the last stage. So values
/// may skip stages. Cuts are taken in the order in which their values are made. Error: no such value, one
/// that no node makes, or a stage would be empty.
///   x -> a -> b -> c, cut at a:   {a} {b c}
Result<std::vector<uint32_t>> cut_graph(const Graph& graph, const std::vector<std::string>& values);

/// Values flow to no earlier stage, and nodes that one region must hold are of one.
Status verify_stage_order(const Graph& graph, const Placement& placement);

/// How many stages the nodes are in.
uint32_t count_stages(const Placement& placement);

}  // namespace intarsia
