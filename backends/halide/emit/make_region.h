// Compiled region: the blob for the run half, the constants, each object once.
#pragma once

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/emit/emit_objects.h"
#include "backends/halide/memory/plan_memory.h"
#include "target/target.h"

namespace intarsia::halide {

/// Makes the compiled region. `graph` has the region's inputs and outputs; `kernels` is the code of each
/// call; runs check the requirements. The workspace has room for the workers' scratch after the arena.
CompiledRegion make_region(const Graph& graph, const std::vector<SizeRequirement>& requirements,
                           const std::vector<Call>& calls, const std::vector<EmittedKernel>& kernels,
                           MemoryPlan memory, const CompileOptions& options, const EmitOptions& emit);

}  // namespace intarsia::halide
