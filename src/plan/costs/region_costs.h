// Times of a plan's regions, predicted and measured.
#pragma once

#include "plan/partition.h"
#include "plan/planning_problem.h"
#include "plan/segment_costs.h"
#include "target/cost_table.h"

namespace intarsia {

/// Nanoseconds of a region in a run.
struct RegionCost {
  std::optional<int64_t> predicted;  // time from those of its parts in other plans
  std::optional<int64_t> measured;
};

/// Sets `predicted` of each region to the sum of its segments' times where it is, unless one is not known, or
/// torn apart.
void predict_regions(const PlanningProblem& problem, const Partition& partition, const SegmentCosts& costs,
                     std::vector<RegionCost>& regions);

/// Sets `measured` of each region that the table knows; nothing is measured. `conditions` as PlanTimer's.
void recall_regions(const PlanningProblem& problem, const Partition& partition, CostTable& table,
                    const CostKey& conditions, std::vector<RegionCost>& regions);

}  // namespace intarsia
