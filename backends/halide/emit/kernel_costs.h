// Measured times of kernels in the database.
#pragma once

#include <limits>
#include <string>

#include "backends/halide/emit/code_generation.h"
#include "backends/halide/schedule/kernel.h"
#include "target/target.h"

namespace intarsia::halide {

/// Nanoseconds of a kernel whose code is too expensive to generate.
inline constexpr int64_t never = std::numeric_limits<int64_t>::max();

/// A kernel that runs in one thread takes longer if others share the work, as its inputs are in their caches:
/// so the threads of the program are part of the key.
std::string cost_key(const Kernel& kernel, const CompileOptions& options);

}  // namespace intarsia::halide
