// Calls of a region, as programs in plain C make them.
#pragma once

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/emit/emit_objects.h"
#include "backends/halide/memory/plan_memory.h"
#include "target/region_calls.h"

namespace intarsia::halide {

/// Lists the calls of a region whose plan is encoded; the arguments are those of make_region.
RegionCalls list_calls(const Graph& graph, const std::vector<SizeRequirement>& requirements,
                       const std::vector<Call>& calls, const std::vector<EmittedKernel>& kernels,
                       const MemoryPlan& memory, const CompileOptions& options, const EmitOptions& emit);

/// Returns the most bytes of stack that one of the kernels takes; 0: unknown.
size_t stack_of(const std::vector<EmittedKernel>& kernels);

/// Returns a description of the work of a call, for people: "conv1/BiasAdd: conv add relu".
std::string label_of(const Call& call, bool keep_names);

/// Checks whether a call copies its one input as it is.
bool is_plain_copy(const Call& call);

/// Checks whether the kernel of a call looks for an element, and so fails where there is none.
bool needs_elements(const Call& call);

}  // namespace intarsia::halide
