// The verifier behind plan_memory: follows a run and asks of every byte a kernel touches whose it is by then.
#pragma once

#include "backends/halide/memory/plan_memory.h"

namespace intarsia::halide {

/// Error, an internal one: a kernel reads workspace that another value has overwritten or that nothing wrote,
/// or writes over what it reads (other than the one input that its code writes in place of), or reaches
/// outside of the workspace.
Status verify_memory(const Layouts& layouts, const std::vector<Call>& calls, const MemoryPlan& plan);

}  // namespace intarsia::halide
