// Adapter that lets a backend also take operators that it has no kernel for, if these have a translation.
#pragma once

#include <memory>

#include "passes/fold_constants.h"
#include "target/target.h"

namespace intarsia {

/// Wraps `target`: asks it about translated nodes and hands it translated regions. `evaluate` rearranges
/// weights at compile time.
std::unique_ptr<Target> make_translating_target(std::unique_ptr<Target> target, Evaluate evaluate);

}  // namespace intarsia
