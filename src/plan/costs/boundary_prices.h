// Prices of boundaries between regions, measured once per machine.
#pragma once

#include <optional>

#include "plan/planning_problem.h"
#include "plan/segment_costs.h"
#include "target/cost_table.h"

namespace intarsia {

/// Returns the price for a target that cannot be measured: its device is absent or declares its times, or its
/// backend does not take the operators of the measurement.
BoundaryPrice assumed_boundary(const PlacementTarget& target);

/// Returns the price of a target's boundaries in the table; nullopt if it was never measured with as many
/// threads.
std::optional<BoundaryPrice> find_boundary(const PlanningProblem& problem, uint32_t target, int threads,
                                           CostTable& table);
void add_boundary(const PlanningProblem& problem, uint32_t target, int threads, const BoundaryPrice& price,
                  CostTable& table);

/// Returns the prices by target, those of the table or assumed ones.
std::vector<BoundaryPrice> known_boundaries(const PlanningProblem& problem, int threads, CostTable& table);

}  // namespace intarsia
