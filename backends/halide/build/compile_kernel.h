// Machine code for one kernel. Runs in a worker process (codegen_worker.cc): LLVM ends its process when
// something goes wrong, and cannot be stopped.
#pragma once

#include "backends/halide/build/emitted_kernel.h"

namespace intarsia::halide {

/// The same kernel gives the same bytes. Where a kernel that is to work in place would write some elements
/// twice, it is the code of the same kernel out of place. `checks`: with Halide's asserts and bounds checks
/// and its own runtime.
Result<EmittedKernel> compile_kernel(const Kernel& kernel, bool checks);

}  // namespace intarsia::halide
