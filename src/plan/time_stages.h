// Stages on their executors, and what they take there.
#pragma once

#include "plan/stage_costs.h"
#include "plan/staged_plan.h"

namespace intarsia {

/// The plan of a placement with stages, its nodes on the slots of their stages, each run there by what
/// `kinds` has for its segment; with what stages take by prediction (a node's part of its segment's time is
/// that of its work) and, where regions are timed, by measurement. Error: such a plan cannot be made.
Result<StagedPlan> place_and_time(const PlanningProblem& problem, Placement placement,
                                  const Segments& segments, const ExecutorKinds& kinds,
                                  std::vector<ChosenStage> stages, const PlanTools& tools);

}  // namespace intarsia
