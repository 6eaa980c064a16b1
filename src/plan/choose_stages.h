// How a model becomes a pipeline: where it is cut, and which executors run the stages.
#pragma once

#include "plan/staged_plan.h"

namespace intarsia {

/// What the user asks for.
struct StageDemand {
  std::vector<std::string> cuts = {};  // values at which stages end; empty: the planner cuts
  std::optional<uint32_t> count = {};  // of stages; nothing: as many as are best
};

/// Divides the plan. With cuts: as they say, a slot a stage in the order of `-d`, or one for all. Else the
/// slowest stage is made as fast as the measured times of segments predict (offer_stages.h); then the stages
/// are timed, and as long as that helps, cut again with the times of their parts corrected; what is predicted
/// then is by those. Several stages ship if they are faster than the whole, or its replicas, when both are
/// timed. Errors: a cut or a count that cannot be.
Result<StagedPlan> choose_stages(const PlanningProblem& problem, const ChosenPlan& chosen,
                                 const StageDemand& demand, const PlanTools& tools);

}  // namespace intarsia
