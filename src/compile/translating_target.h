// A backend that knows our operators also takes TensorFlow's, where these have a translation.
#pragma once

#include <memory>

#include "passes/fold_constants.h"
#include "target/target.h"

namespace intarsia {

/// Asks `target` about translated nodes and hands it translated regions. Weights are moved round at compile
/// time by `evaluate`.
std::unique_ptr<Target> make_translating_target(std::unique_ptr<Target> target, Evaluate evaluate);

}  // namespace intarsia
