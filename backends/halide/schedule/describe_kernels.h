// Descriptions of kernels, for people and tools: their source nodes, their arithmetic, their algorithm.
#pragma once

#include "backends/halide/schedule/kernel.h"
#include "target/target.h"

namespace intarsia::halide {

/// Returns a note for each call, in order; its nodes start with `Call::source`. Operations are those of
/// products as they are defined, whatever the algorithm: Winograd's does fewer. Bytes are those of the
/// arguments, each once in each run of the kernel; an argument from which a movement only picks elements
/// counts as much as the output.
std::vector<KernelNote> describe_kernels(const Layouts& layouts, const std::vector<Call>& calls);

}  // namespace intarsia::halide
