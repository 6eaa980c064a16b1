// Placement of the nodes of stages on their executors.
#pragma once

#include "plan/planning_problem.h"

namespace intarsia {

/// Moves nodes to the slot of their stage: there to the backend that `preferred` has for them or, where that
/// is null, that runs them where they are, else to the first that takes them. A library that has one pool of
/// threads in the process moves only as a whole. Nodes that are pinned elsewhere, or that no backend there
/// takes, stay where they are.
void place_stages(const PlanningProblem& problem, const std::vector<uint32_t>& slot_of_stage,
                  const std::vector<const Target*>& preferred, Placement& placement);

}  // namespace intarsia
