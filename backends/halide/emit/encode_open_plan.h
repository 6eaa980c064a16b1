// Plan of a region with open sizes as the blob for the run half (abi/open_plan.fbs).
#pragma once

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/emit/emit_objects.h"
#include "backends/halide/memory/plan_memory.h"
#include "target/target.h"

namespace intarsia::halide {

/// Encodes the plan; `kernels` is the code of each call.
std::string encode_open_plan(const Graph& graph, const std::vector<SizeRequirement>& requirements,
                             const std::vector<Call>& calls, const std::vector<EmittedKernel>& kernels,
                             const CompileOptions& options, const MemoryPlan& memory);

}  // namespace intarsia::halide
