// A plan that is a pipeline's, and how it was chosen.
#pragma once

#include "plan/choose_plan.h"
#include "plan/chosen_stage.h"

namespace intarsia {

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

}  // namespace intarsia
