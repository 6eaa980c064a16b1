// The text of plans: for --print-after, and as the name of a plan among those of one graph.
#pragma once

#include <string>

#include "plan/plan.h"

namespace intarsia {

/// "conv1 (Conv): halide@cpu, first choice" a line.
std::string describe_placement(const PlanningProblem& problem, const Placement& placement);
/// "region 0 halide@cpu: 12 nodes, conv1 ... relu7" a line.
std::string describe_partition(const PlanningProblem& problem, const Partition& partition);
/// "run 0 halide@cpu" and "copy x cpu -> accel" a line.
std::string describe_steps(const PlanningProblem& problem, const Partition& partition, const StepList& steps);

/// The targets and nodes of the regions, with the versions of backends and of their code, and the devices:
/// equal for plans that run the same of one graph.
std::string identify_plan(const PlanningProblem& problem, const Partition& partition);

}  // namespace intarsia
