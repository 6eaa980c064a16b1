// Division of a model into a pipeline: where it is cut, and which executors run the stages.
#pragma once

#include "plan/stages/staged_plan.h"

namespace intarsia {

/// Pipeline that the user asks for.
struct StageDemand {
  std::vector<std::string> cuts = {};  // values at which stages end; if empty, the planner cuts
  std::optional<uint32_t> count = {};  // number of stages; nullopt for as many as are best
};

/// Divides the plan. Cuts of the user are taken as they are, with a slot per stage in the order of `-d`, or
/// one for all. Without cuts, the slowest stage is made as fast as the measured times of segments predict
/// (find_partitionings.h); then the stages are timed and, while that helps, cut again with the times of their
/// parts corrected; predictions follow the corrected times. Several stages ship if they are faster than the
/// whole, or its replicas, when both are timed. Errors: a cut or a count that is impossible.
Result<StagedPlan> choose_stages(const PlanningProblem& problem, const ChosenPlan& chosen,
                                 const StageDemand& demand, const PlanTools& tools);

}  // namespace intarsia
