// Division of regions so that branches of a model run at the same time on different executors.
#pragma once

#include "plan/partition.h"
#include "plan/planning_problem.h"

namespace intarsia {

/// Divides regions that hold up others. Partitioning makes regions as large as it can, so one may start with
/// nodes that could run while another executor computes what the rest of it reads, or end with some that
/// others need not wait for. Where both have work (products, convolutions, attention, recurrences; on a
/// device: anything), or a value is copied that is made early, the region becomes two, and these again. A
/// group of opaque values stays together. Where nodes were scheduled (Placement::rank), no region of an
/// executor starts before one that was scheduled between its nodes, and regions are in that order. Regions
/// still read only from earlier ones.
///   {b1 b2}@b, {a1 a2 join}@a, where join reads b2   =>   {b1 b2}@b, {a1 a2}@a, {join}@a
///   {a1 a2}@a, {b1}@b, where b1 reads a1             =>   {a1}@a, {b1}@b, {a2}@a
void split_branches(const PlanningProblem& problem, const Placement& placement, Partition& partition);

}  // namespace intarsia
