// How a model becomes a pipeline: where it is cut, and which executors run the stages.
#pragma once

#include "plan/choose_plan.h"
#include "plan/chosen_stage.h"

namespace intarsia {

/// What the user asks for.
struct StageDemand {
  std::vector<std::string> cuts = {};  // values at which stages end; empty: the planner cuts
  std::optional<uint32_t> count = {};  // of stages; nothing: as many as are best
};

/// A way to use the executors that was compared.
struct ComparedStages {
  std::string name;         // "2 replicas of the whole"
  int64_t nanoseconds = 0;  // between two frames, predicted
};

struct StageReport {
  std::string chosen;                    // name of the one that ships: "2 stages, 2 executors", "cut by hand"
  std::vector<ComparedStages> compared;  // empty: there was nothing to choose
  std::optional<int64_t> lower_bound;    // nanoseconds that no such division is below, by the predicted times
  std::string guessed_reason;            // why times are estimates; empty: they were measured
  int nudged = 0;  // how often cuts were moved because stages took other times than predicted

  /// Nanoseconds between two frames.
  static int64_t interval(const std::vector<ChosenStage>& stages, std::optional<int64_t> ChosenStage::* time);
};

struct StagedPlan {
  Plan plan;  // no region is of two stages
  std::vector<ChosenStage> stages;
  StageReport report = {};
  std::vector<AlternativePlan> alternatives = {};  // of the whole, not divided
};

/// Divides the plan. With cuts: as they say, a slot a stage in the order of `-d`, or one for all. Else the
/// slowest stage is made as fast as the measured times of segments predict (offer_stages.h); then the stages
/// are timed, and as long as that helps, cut again with the times of their parts corrected; what is predicted
/// then is by those. Several stages ship if they are faster than the whole, or its replicas, when both are
/// timed. Errors: a cut or a count that cannot be.
Result<StagedPlan> choose_stages(const PlanningProblem& problem, const ChosenPlan& chosen,
                                 const StageDemand& demand, const PlanTools& tools);

}  // namespace intarsia
