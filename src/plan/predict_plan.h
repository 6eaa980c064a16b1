// How long a plan will take that never ran.
#pragma once

#include "plan/plan.h"
#include "target/cost_table.h"

namespace intarsia {

/// Nanoseconds of a run, from what its parts took in other plans, of this model or of one with equal parts,
/// and from the links between memories (mix_backends.h); nothing is measured. Absent where the table lacks
/// one of these, or the placement tears apart what is timed as one. `conditions` as PlanTimer's.
std::optional<int64_t> predict_plan(const PlanningProblem& problem, const Placement& placement,
                                    CostTable& table, const CostKey& conditions);

}  // namespace intarsia
