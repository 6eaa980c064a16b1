// Where a model itself wants its nodes.
#pragma once

#include <map>

#include "import/read_annotations.h"
#include "plan/planning_problem.h"

namespace intarsia {

/// The targets of nodes whose annotation (read_annotations.h) names a place of this compile: a target
/// ("halide@accel"), or a slot ("@accel", or the device "accel"), where it is the first backend that takes
/// the node. Other annotations are names for other tools. Nodes of an inlined function go where its call
/// goes. Error: no backend there takes the node.
Result<std::map<NodeId, uint32_t>> pin_annotated(const PlanningProblem& problem,
                                                 const Annotations& annotations);

}  // namespace intarsia
