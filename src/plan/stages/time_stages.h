// Stages on their executors, and their times there.
#pragma once

#include "plan/stages/stage_costs.h"
#include "plan/stages/staged_plan.h"

namespace intarsia {

/// Makes the plan of a placement with stages, its nodes on the slots of their stages, each run there by the
/// backend that `kinds` has for its segment. Stages get their times (device_load) by prediction (a node's
/// part of its segment's time is that of its work) and, where regions are timed, by measurement. They have a
/// spare frame where `memory` allows it (stage_frames.h). Error: such a plan cannot be made.
Result<StagedPlan> place_and_time(const PlanningProblem& problem, Placement placement,
                                  const SegmentCosts& costs, const ExecutorKinds& kinds,
                                  std::vector<ChosenStage> stages, const std::vector<StageMemory>& memory,
                                  const PlanTools& tools);

}  // namespace intarsia
