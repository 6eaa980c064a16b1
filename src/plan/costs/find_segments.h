// Segments of a graph, which are placed as a whole.
#pragma once

#include "plan/planning_problem.h"

namespace intarsia {

/// Returns, for each node, the first node of its segment. Placing node by node would tear apart what backends
/// fuse, and price cuts in the middle of it. So nodes that follow each other are one segment, which ends only
/// where few values are alive, between two nodes that take long (products, convolutions, recurrences), where
/// least must be handed over, or where the targets that may run nodes change. Segments read only from earlier
/// ones: nodes are in an order of their dependencies. `may_run[node][target]`. `groups`: results of
/// Target::groups(); nodes of one group are in one segment with all nodes between them.
///   conv relu | conv relu add | pool ...
/// With several executors, a segment also ends where two branches meet that both have such nodes: nodes that
/// wait for both must not hold back the end of one.
///   conv relu | conv relu | concat | pool ...
std::vector<uint32_t> find_segments(const PlanningProblem& problem,
                                    const std::vector<std::vector<bool>>& may_run,
                                    const std::vector<std::vector<size_t>>& groups = {});

/// Returns the groups of all targets that have some. Error: a plug-in cannot tell.
Result<std::vector<std::vector<size_t>>> find_groups(const PlanningProblem& problem);

}  // namespace intarsia
