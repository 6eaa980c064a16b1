// Measured times of kernels in the database.
#pragma once

#include "backends/halide/schedule/kernel.h"
#include "target/target.h"

namespace intarsia::halide {

/// Returns the key of a kernel in the database. It includes the threads of the program: a kernel that runs in
/// one thread takes longer if others share the work, as its inputs are in their caches.
CostKey cost_key(const Kernel& kernel, const CompileOptions& options);

}  // namespace intarsia::halide
