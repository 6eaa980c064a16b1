// The verifier behind plan_memory: follows a run and asks of every byte a kernel touches whose it is by then.
#pragma once

#include "backends/halide/plan_memory.h"

namespace intarsia::halide {

/// Error, an internal one: a kernel reads workspace that another value has overwritten or that nothing wrote, or writes
/// what it reads as another value, or reaches outside of the workspace.
Status verify_memory(const Layouts& layouts, const std::vector<Call>& calls, const MemoryPlan& plan);

}  // namespace intarsia::halide
