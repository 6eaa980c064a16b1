// Nodes that may share a region where open sizes decide.
#pragma once

#include "plan/planning_problem.h"

namespace intarsia {

/// Sets PlacedNode::open_size of the nodes that their target wants in regions of one open size
/// (Target::wants_one_open_size); of all others it is 0.
///   y: f32[N,4] = Relu(x), z: f32[3] = Relu(w)   ->   1 and 0: they do not share a region
void separate_open_sizes(const PlanningProblem& problem, Placement& placement);

}  // namespace intarsia
