// How long a plan will take that never ran.
#pragma once

#include "plan/mix_backends.h"
#include "target/cost_table.h"

namespace intarsia {

struct PlanPrediction {
  int64_t whole = never;  // nanoseconds of a run
  SegmentCosts costs;     // of its parts, where it has them
};

/// From what its parts took in other plans, of this model or of one with equal parts, and from the links
/// between memories (mix_backends.h); nothing is measured. Absent where the table lacks one of these, or the
/// placement tears apart what is timed as one. `conditions` as PlanTimer's.
std::optional<PlanPrediction> predict_plan(const PlanningProblem& problem, const Placement& placement,
                                           CostTable& table, const CostKey& conditions);

}  // namespace intarsia
