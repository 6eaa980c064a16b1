// Text of plans: for --print-after, and as the name of a plan among those of one graph.
#pragma once

#include <string>

#include "plan/plan.h"

namespace intarsia {

/// Returns a line per node: "conv1 (Conv): halide@cpu, first choice".
std::string describe_placement(const PlanningProblem& problem, const Placement& placement);
/// Returns a line per region, "region 0 halide@cpu: 12 nodes, 'conv1' ... 'relu7'", and one per layout.
std::string describe_partition(const PlanningProblem& problem, const Partition& partition);
/// Returns a line per step: "run 0 halide@cpu", "copy x cpu -> accel".
std::string describe_steps(const PlanningProblem& problem, const Partition& partition, const StepList& steps);

/// Returns the targets of the regions: "halide@cpu + reference@cpu".
std::string targets_of(const PlanningProblem& problem, const Partition& partition);

/// Returns the targets and nodes of the regions, with the versions of backends and of their code, and the
/// devices: equal for plans of one graph that run the same.
std::string identify_plan(const PlanningProblem& problem, const Partition& partition);

}  // namespace intarsia
