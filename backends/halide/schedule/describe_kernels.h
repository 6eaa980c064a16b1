// What each kernel computes, for people and tools: its source nodes, its arithmetic, its algorithm.
#pragma once

#include "backends/halide/schedule/kernel.h"
#include "target/target.h"

namespace intarsia::halide {

/// A note for each call, in order; its nodes begin with `Call::source`. Operations are those of products as
/// they are defined, whatever the algorithm: Winograd's does fewer. Bytes are those of the arguments, each
/// once in each run of the kernel; an argument from which a movement only picks elements counts as much as
/// the output.
std::vector<KernelNote> describe_kernels(const Layouts& layouts, const std::vector<Call>& calls);

}  // namespace intarsia::halide
