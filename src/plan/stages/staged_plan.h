// Plan of a pipeline, and how it was chosen.
#pragma once

#include "plan/choose/choose_plan.h"
#include "plan/chosen_stage.h"

namespace intarsia {

/// Way to use the executors that was compared with others.
struct ComparedStages {
  std::string name;         // such as "2 replicas of the whole"
  int64_t nanoseconds = 0;  // predicted time between two frames
};

struct StageReport {
  std::string chosen;                    // name of what ships: "2 stages, 2 executors", "cut by hand"
  std::vector<ComparedStages> compared;  // empty if there was nothing to choose
  std::optional<int64_t> lower_bound;    // nanoseconds that no such division can beat, by predicted times
  std::string guessed_reason;            // why times are estimates; empty if they were measured
  int nudged = 0;  // number of times that cuts moved because stages took other times than predicted

  /// Returns the nanoseconds between two frames; stages on one slot take turns.
  static int64_t interval(const std::vector<ChosenStage>& stages, std::optional<int64_t> ChosenStage::* time);
};

struct StagedPlan {
  Plan plan;  // plan in which no region spans two stages
  std::vector<ChosenStage> stages;
  StageReport report = {};
  std::vector<AlternativePlan> alternatives = {};  // undivided plans
};

}  // namespace intarsia
