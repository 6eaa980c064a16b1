// Encoding of the blob for the run half.
#pragma once

#include <string>

#include "backends/halide/emit/emit_objects.h"
#include "backends/halide/memory/plan_memory.h"
#include "target/target.h"

namespace intarsia::halide {

/// Returns what the calls need for themselves. The run half has one place for all calls, where nothing else
/// lies if calls run beside each other, or a run has several items; plain C has a place for each.
Scratch scratch_of(const std::vector<Call>& calls, const std::vector<EmittedKernel>& kernels,
                   const CompileOptions& options, const EmitOptions& emit);

/// Encodes the plan. Scratch that it has no place for lies after the workspace; where calls have places of
/// their own, the run half allocates it.
std::string encode_plan(const Graph& graph, const std::vector<Call>& calls,
                        const std::vector<EmittedKernel>& kernels, const CompileOptions& options,
                        const EmitOptions& emit, MemoryPlan& memory);

}  // namespace intarsia::halide
