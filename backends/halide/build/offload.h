// Loops as work items of a device.
#pragma once

#include "backends/halide/build/build_kernel.h"

namespace intarsia::halide {

/// Each iteration of the loops `outer` (the innermost first; those of the output that stay inside a work item
/// are not among them) becomes a work item. Gives the loop in which what only this work item needs is
/// computed.
Var offload(const KernelBuilder& builder, Func out, const std::vector<Var>& outer);

}  // namespace intarsia::halide
