// Layouts of values between regions of one backend, as that backend prefers them.
#pragma once

#include "plan/partition.h"
#include "plan/planning_problem.h"

namespace intarsia {

/// Asks backends how they would lay out what only their own regions exchange, region after region, and fills
/// in Partition::layouts. So cutting a backend's region in two costs no conversion. Values that others read,
/// outputs of the graph, and values whose sizes are not known stay as in the model.
///   conv@halide -> y -> conv@halide   =>   y has its axes in the order 0, 2, 3, 1: channels last
Status choose_boundary_layouts(const PlanningProblem& problem, Partition& partition);

/// Checks independently that layouts order all axes of values that regions of one backend exchange.
Status verify_boundary_layouts(const PlanningProblem& problem, const Partition& partition);

/// Returns what the region's backend compiles: the region's nodes, after Transposes of the inputs and before
/// Transposes of the outputs that do not lie as in the model.
Graph extract_region(const Graph& graph, const Partition& partition, size_t region);

/// Returns the entries of Partition::layouts at the region's boundary.
std::map<ValueId, AxisOrder> layouts_of_region(const Partition& partition, size_t region);

}  // namespace intarsia
