// Nodes that may share a region where open sizes, and sizes that data tell, decide.
#pragma once

#include "plan/planning_problem.h"

namespace intarsia {

/// Sets PlacedNode::open_size: of nodes that their target wants in regions of one open size
/// (Target::wants_one_open_size), and of those that come after nodes that end their region
/// (Target::ends_region); of all others it is 0.
///   y: f32[N,4] = Relu(x), z: f32[3] = Relu(w)   ->   1 and 0: they do not share a region
///   i: i64[2,?] = NonZero(x), j = Transpose(i)   ->   0 and 1
void separate_open_sizes(const PlanningProblem& problem, Placement& placement);

}  // namespace intarsia
