// Split of nodes into stages of a pipeline, one per team of devices, so that the slowest stage is as fast as
// possible.
#pragma once

#include "plan/stages/stage_problem.h"

namespace intarsia {

/// Returns the best split that was found, and a bound that no split is below: they are equal where all splits
/// could be compared, which is so for graphs that are nearly chains. Not every team needs a stage. `max_load`
/// is infinite where no split was found. The problem is verified. The same problem has the same result.
StageSplit split_stages(const StageProblem& problem);

/// Returns a load that no split is below, however these devices are divided into teams: that of running all
/// nodes as if the work could be divided among the devices at will. For any weights of the kinds of devices,
/// of sum one over all devices, that is at least the sum over nodes of their least weighted time (a
/// Lagrangian dual); weights are searched by moving some from kinds that have less than their share to kinds
/// that have more.
double divided_load(const StageProblem& problem);

}  // namespace intarsia
