// Cuts a graph into stretches that are placed as a whole.
#pragma once

#include "plan/planning_problem.h"

namespace intarsia {

/// Placing node by node would tear apart what backends fuse, and price cuts in the middle of it. So nodes
/// that follow each other are one segment, which ends only where few values are alive, between two nodes that
/// take long (products, convolutions, recurrences), where least must be handed over, or where the targets
/// that may run nodes change. By node: the first node of its segment. Segments read only from earlier ones:
/// nodes are in an order of their dependencies. `may_run[node][target]`. `groups`: what Target::groups()
/// said; nodes of one group are in one segment with all between them.
///   conv relu | conv relu add | pool ...
std::vector<uint32_t> find_segments(const Graph& graph, const std::vector<std::vector<bool>>& may_run,
                                    const std::vector<std::vector<size_t>>& groups = {});

/// Of all targets that have some. Error: a plug-in cannot say.
Result<std::vector<std::vector<size_t>>> find_groups(const PlanningProblem& problem);

}  // namespace intarsia
