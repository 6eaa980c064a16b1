// Encoding of the blob for the run half.
#pragma once

#include <string>

#include "backends/halide/emit/emit_objects.h"
#include "backends/halide/memory/plan_memory.h"
#include "target/target.h"

namespace intarsia::halide {

/// Encodes the plan, and adds the workers' scratch to the workspace.
std::string encode_plan(const Graph& graph, const std::vector<Call>& calls,
                        const std::vector<EmittedKernel>& kernels, const CompileOptions& options,
                        const EmitOptions& emit, MemoryPlan& memory);

}  // namespace intarsia::halide
