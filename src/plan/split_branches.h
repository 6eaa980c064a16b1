// Lets branches of a model run at the same time on different executors.
#pragma once

#include "plan/partition_graph.h"
#include "plan/planning_problem.h"

namespace intarsia {

/// Partitioning makes regions as large as it can, so one may begin with nodes that could run while another
/// executor computes what the rest of it reads. Where both have work (products, convolutions, attention,
/// recurrences), the region becomes two: what waits for no other executor, and the rest. A group of opaque
/// values stays together. Regions still read only from earlier ones.
///   {b1 b2}@b, {a1 a2 join}@a, where join reads b2   =>   {b1 b2}@b, {a1 a2}@a, {join}@a
void split_branches(const PlanningProblem& problem, const Placement& placement, Partition& partition);

}  // namespace intarsia
