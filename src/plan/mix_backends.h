// The cheapest division of a model among targets, by what its parts took in plans that ran.
#pragma once

#include "plan/place_by_cost.h"
#include "plan/plan.h"
#include "plan/segment_times.h"

namespace intarsia {

/// What parts of a model take.
struct SegmentCosts {
  Segments segments;
  std::vector<std::vector<int64_t>> times;  // [segment][target] in nanoseconds; `never`: not there
  std::vector<std::vector<Link>> links;     // [from][to] by memory space
};

/// How much a boundary between two regions costs.
struct BoundaryPrice {
  int64_t call = 2000;             // nanoseconds of a region's step
  int64_t framework_call = 10000;  // and of a region in a framework, which wakes threads of its own
  double per_byte = 0.2;  // nanoseconds: values change to the layout that the next region wants, and leave
                          // caches
};

struct MixedPlacement {
  Placement placement;
  int64_t predicted = never;  // nanoseconds of a run
};

/// Places segments by cost. `placed` says what is refused; the reasons of nodes that go elsewhere say the
/// times. Nothing when no placement can run.
std::optional<MixedPlacement> mix_backends(const PlanningProblem& problem, const Placement& placed,
                                           const SegmentCosts& costs, const BoundaryPrice& price);

/// The same for executors that work side by side (schedule_placement.h): what is predicted is the time until
/// all are done.
std::optional<MixedPlacement> schedule_executors(const PlanningProblem& problem, const Placement& placed,
                                                 const SegmentCosts& costs, const BoundaryPrice& price);

/// What the segments take where `placement` has them, copies and boundaries included; `never`: it cannot run,
/// or something is not known.
int64_t price_placement(const PlanningProblem& problem, const Placement& placement, const SegmentCosts& costs,
                        const BoundaryPrice& price = {});

/// [segment][target]: how many nanoseconds longer a run would take with the segment there and all others
/// where `placement` has them, copies and boundaries included; negative: shorter. `never`: it is there, or
/// something is not known.
std::vector<std::vector<int64_t>> price_moves(const PlanningProblem& problem, const Placement& placement,
                                              const SegmentCosts& costs, const BoundaryPrice& price = {});

}  // namespace intarsia
