// Verifier of plan_memory: follows a run and checks to which value each byte that a kernel touches belongs.
#pragma once

#include "backends/halide/memory/plan_memory.h"

namespace intarsia::halide {

/// Verifies a memory plan. Error, an internal one: a kernel reads workspace that another value has
/// overwritten or that was never written, or writes over what it reads (other than the input that its code
/// overwrites in place), or reaches outside of the workspace. Open sizes are typical ones.
Status verify_memory(const Layouts& layouts, const std::vector<Call>& calls, const MemoryPlan& plan);

}  // namespace intarsia::halide
