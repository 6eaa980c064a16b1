// Control flow of TensorFlow 1: Enter, Merge, Switch, NextIteration, Exit.
#pragma once

#include <vector>

#include "tensorflow/messages.h"

namespace intarsia {

/// Finds the needed nodes that only make sense together: all nodes on a path from an Enter or Switch to an
/// Exit or Merge, with those that must run in the same frame. Connected ones form one group; indices ascend.
/// All other nodes are in no group.
///   Enter -> Merge -> Switch -> Exit, Switch -> Add -> NextIteration -> Merge   ->   one group of these six
std::vector<std::vector<size_t>> find_control_flow_groups(const std::vector<tensorflow::NodeDef>& nodes,
                                                          const std::vector<bool>& needed);

}  // namespace intarsia
