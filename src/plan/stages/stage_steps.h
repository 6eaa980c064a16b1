// Values that each stage of a partition exchanges with the others, and its steps.
#pragma once

#include "plan/step_list.h"

namespace intarsia {

/// Stage as a function: callers, and other stages, hand values over in the host's memory.
struct StageSteps {
  std::vector<ValueId> inputs;   // inputs of the graph, or values made by earlier stages
  std::vector<ValueId> outputs;  // outputs of the graph, or values read by later stages
  StepList steps;
};

/// Lists the stages. Outputs of the graph that no region makes (constants, and inputs of the graph) are those
/// of the first.
///   x -> a | b -> y, b also reads x:   {x -> a} {x, a -> y}
std::vector<StageSteps> list_stages(const Graph& graph, const Partition& partition,
                                    const std::vector<uint32_t>& space_of_target);

}  // namespace intarsia
