// Cheapest division of a model among targets, from the times of its parts in plans that ran.
#pragma once

#include "plan/place/place_by_cost.h"
#include "plan/plan.h"
#include "plan/segment_costs.h"

namespace intarsia {

struct MixedPlacement {
  Placement placement;
  int64_t predicted = never;  // nanoseconds of a run
};

/// Places segments by cost, starting from `placed`; the reasons of nodes that go elsewhere state the times.
/// Returns nullopt if no placement can run.
std::optional<MixedPlacement> mix_backends(const PlanningProblem& problem, const Placement& placed,
                                           const SegmentCosts& costs);

/// Places segments for executors that work side by side (schedule_placement.h), and predicts the time until
/// all are done. Returns nullopt if no placement can run.
std::optional<MixedPlacement> schedule_executors(const PlanningProblem& problem, const Placement& placed,
                                                 const SegmentCosts& costs);

/// Returns the time of the segments where `placement` has them, copies and boundaries included; `never` if it
/// cannot run, or something is not known.
int64_t price_placement(const PlanningProblem& problem, const Placement& placement,
                        const SegmentCosts& costs);

/// Returns the time of the segments with executors that work side by side.
int64_t price_schedule(const PlanningProblem& problem, const Placement& placement, const SegmentCosts& costs);

/// Returns, by [segment][target], how many nanoseconds longer a run would take with the segment there and all
/// others where `placement` has them, copies and boundaries included; negative if shorter, `never` if it is
/// there already, or something is not known.
std::vector<std::vector<int64_t>> price_moves(const PlanningProblem& problem, const Placement& placement,
                                              const SegmentCosts& costs);

}  // namespace intarsia
