// Moves the nodes of stages to their executors.
#pragma once

#include "plan/planning_problem.h"

namespace intarsia {

/// Nodes go to the slot of their stage: there to the backend that `preferred` has for them, or, where that is
/// null, that runs them where they are, else to the first that takes them. A library that has one pool of
/// threads in the process moves only as a whole. What is pinned elsewhere, or no backend there takes, stays
/// where it is.
void place_stages(const PlanningProblem& problem, const std::vector<uint32_t>& slot_of_stage,
                  const std::vector<const Target*>& preferred, Placement& placement);

}  // namespace intarsia
