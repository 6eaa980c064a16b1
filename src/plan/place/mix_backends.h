// Cheapest division of a model among targets, from the times of its parts in plans that ran.
#pragma once

#include "plan/place/place_by_cost.h"
#include "plan/plan.h"
#include "plan/segment_costs.h"

namespace intarsia {

/// Price of a boundary between two regions.
struct BoundaryPrice {
  int64_t call = 2000;             // nanoseconds of a region's step
  int64_t framework_call = 10000;  // nanoseconds of a framework region's step, which wakes threads of its own
  double per_byte = 0.2;           // nanoseconds: values change layout for the next region, and leave caches
};

struct MixedPlacement {
  Placement placement;
  int64_t predicted = never;  // nanoseconds of a run
};

/// Places segments by cost, starting from `placed`; the reasons of nodes that go elsewhere state the times.
/// Returns nullopt if no placement can run.
std::optional<MixedPlacement> mix_backends(const PlanningProblem& problem, const Placement& placed,
                                           const SegmentCosts& costs, const BoundaryPrice& price);

/// Places segments for executors that work side by side (schedule_placement.h), and predicts the time until
/// all are done. Returns nullopt if no placement can run.
std::optional<MixedPlacement> schedule_executors(const PlanningProblem& problem, const Placement& placed,
                                                 const SegmentCosts& costs, const BoundaryPrice& price);

/// Returns the time of the segments where `placement` has them, copies and boundaries included; `never` if it
/// cannot run, or something is not known.
int64_t price_placement(const PlanningProblem& problem, const Placement& placement, const SegmentCosts& costs,
                        const BoundaryPrice& price = {});

/// Returns the time of the segments with executors that work side by side.
int64_t price_schedule(const PlanningProblem& problem, const Placement& placement, const SegmentCosts& costs,
                       const BoundaryPrice& price);

/// Returns, by [segment][target], how many nanoseconds longer a run would take with the segment there and all
/// others where `placement` has them, copies and boundaries included; negative if shorter, `never` if it is
/// there already, or something is not known.
std::vector<std::vector<int64_t>> price_moves(const PlanningProblem& problem, const Placement& placement,
                                              const SegmentCosts& costs, const BoundaryPrice& price = {});

}  // namespace intarsia
