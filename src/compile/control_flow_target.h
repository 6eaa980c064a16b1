// Target of branches and loops, whose bodies our own backends compile and steps of the program run.
#pragma once

#include <memory>
#include <vector>

#include "passes/fold_constants.h"
#include "target/target.h"

namespace intarsia {

/// Makes the target. It supports a node if one of `natives`, which outlive it, or the target itself supports
/// each node of its bodies.
std::unique_ptr<Target> make_control_flow_target(std::vector<const Target*> natives, Evaluate evaluate);

}  // namespace intarsia
