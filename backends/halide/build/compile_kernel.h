// Generation of machine code for one kernel. It runs in a worker process (codegen_worker.cc): LLVM ends the
// process when something goes wrong, and cannot be stopped.
#pragma once

#include "backends/halide/build/emitted_kernel.h"

namespace intarsia::halide {

/// Compiles a kernel; the same kernel gives the same bytes. If a kernel that should work in place would write
/// some elements twice, the code is that of the same kernel out of place. With `checks`, the code has
/// Halide's asserts and bounds checks and its own runtime.
Result<EmittedKernel> compile_kernel(const Kernel& kernel, bool checks);

}  // namespace intarsia::halide
