// Machine code for one kernel. Runs in a worker process (codegen_worker.cc): LLVM ends its process when
// something goes wrong, and cannot be stopped.
#pragma once

#include <optional>

#include "backends/halide/build/emitted_kernel.h"

namespace intarsia::halide {

/// The same kernel and name give the same bytes. Nothing where the kernel is to be in place but its code
/// would write some elements twice. `checks`: with Halide's asserts and bounds checks and its own runtime.
Result<std::optional<EmittedKernel>> compile_kernel(const Kernel& kernel, const std::string& name,
                                                    bool checks);

}  // namespace intarsia::halide
