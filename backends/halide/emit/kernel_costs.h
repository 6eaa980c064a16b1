// Measured times of kernels in the database.
#pragma once

#include "backends/halide/emit/code_generation.h"
#include "backends/halide/schedule/kernel.h"
#include "target/target.h"

namespace intarsia::halide {

/// A kernel that runs in one thread takes longer if others share the work, as its inputs are in their caches:
/// so the threads of the program are part of the key.
CostKey cost_key(const Kernel& kernel, const CompileOptions& options);

}  // namespace intarsia::halide
