// Pins that a model's own metadata asks for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/read_annotations.h"
#include "plan/planning_problem.h"

namespace intarsia {

struct AnnotatedPins {
  std::map<NodeId, uint32_t> pins;
  /// Annotated places that this compile does not have, with node counts: "'npu' (3 nodes, first 'conv1')".
  std::vector<std::string> unknown;
};

/// Returns the targets of the nodes whose annotation (read_annotations.h) names a place of this compile: a
/// target ("halide@accel"), or a slot ("@accel", or the device "accel"), on which the first backend that
/// takes the node is chosen. Other annotations may be meant for other tools. Nodes of an inlined function go
/// where its call goes. Error: no backend there takes the node.
Result<AnnotatedPins> pin_annotated(const PlanningProblem& problem, const Annotations& annotations);

}  // namespace intarsia
