// Placements that need less of a memory than another.
#pragma once

#include "plan/memory_use.h"
#include "plan/segment_costs.h"

namespace intarsia {

/// Returns by how many bytes the limits are exceeded, in all memories together.
uint64_t bytes_over(const PlanningProblem& problem, const std::vector<MemoryUse>& uses);

/// Guesses costs in place of measured ones: times follow from the arithmetic, a little longer elsewhere than
/// where `placed` has it, and far longer in backends that are not meant to be fast. Copies are expensive,
/// since nodes that are cut apart cannot be fused: so plans with few cuts are the cheap ones. A segment
/// starts with work (products, convolutions), or `by_node` with each node.
SegmentCosts guess_costs(const PlanningProblem& problem, const Placement& placed, bool by_node);

/// Finds placements that keep the limits of the problem by the estimate, the cheapest first. Segments leave a
/// memory that is too small where this costs least: each byte of weights and values in it has a price, which
/// rises until the placement fits. Pins and the user's kernels stay.
///   w1 -> w2 -> w3, all @accel, which has room for two of them:  w1 w2 @accel, w3 @cpu
std::vector<Placement> shrink_placement(const PlanningProblem& problem, const Placement& placed,
                                        const SegmentCosts& costs, const Replan& replan,
                                        const MeasureMemory& estimate);

/// Lists all placements of a small problem, those first that exceed the limits least by the estimate; none of
/// a big one.
std::vector<Placement> list_placements(const PlanningProblem& problem, const Placement& placed,
                                       const Replan& replan, const MeasureMemory& estimate);

}  // namespace intarsia
