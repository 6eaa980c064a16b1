// Prediction of the time of a plan that never ran.
#pragma once

#include "plan/planning_problem.h"
#include "plan/segment_costs.h"
#include "target/cost_table.h"

namespace intarsia {

struct PlanPrediction {
  int64_t whole = never;  // nanoseconds of a run
  SegmentCosts costs;     // times of its parts, on the targets that it has them on
};

/// Predicts the time from those of its parts in other plans, of this model or of one with equal parts, and
/// from the links between memories (mix_backends.h); measures nothing. Returns nullopt if the table lacks one
/// of these, or the placement tears apart what is timed as one. `conditions` as PlanTimer's.
std::optional<PlanPrediction> predict_plan(const PlanningProblem& problem, const Placement& placement,
                                           CostTable& table, const CostKey& conditions);

}  // namespace intarsia
