// Placements that need less of a memory than another.
#pragma once

#include "plan/memory_use.h"
#include "plan/mix_backends.h"

namespace intarsia {

/// By how many bytes the limits are exceeded, in all memories together.
uint64_t bytes_over(const PlanningProblem& problem, const std::vector<MemoryUse>& uses);

/// In place of measured times: what there is to compute, a little more of it elsewhere, and in backends that
/// are not meant to be fast far more. Copies are dear, since what is cut apart cannot be fused: so plans with
/// few cuts are the cheap ones. A segment begins with work (products, convolutions), or `by_node` with each
/// node.
SegmentCosts guess_costs(const PlanningProblem& problem, const Placement& placed, bool by_node);

/// Placements that the estimate takes to keep the limits of the problem, the cheapest first. Segments leave a
/// memory that is too small where this costs least: each byte of weights and values in it has a price, which
/// rises until the placement fits. Pins and kernels of the user's stay.
///   w1 -> w2 -> w3, all @accel, which has room for two of them:  w1 w2 @accel, w3 @cpu
std::vector<Placement> shrink_placement(const PlanningProblem& problem, const Placement& placed,
                                        const SegmentCosts& costs, const Replan& replan,
                                        const MeasureMemory& estimate);

/// All placements of a small problem, those first that the estimate takes to exceed the limits least; of a
/// big one none.
std::vector<Placement> list_placements(const PlanningProblem& problem, const Placement& placed,
                                       const Replan& replan, const MeasureMemory& estimate);

}  // namespace intarsia
