#include "backends/halide/emit/make_region.h"

#include <set>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/emit/encode_open_plan.h"
#include "backends/halide/emit/encode_plan.h"
#include "backends/halide/emit/glue_object.h"

namespace intarsia::halide {

CompiledRegion make_region(const Graph& graph, const std::vector<SizeRequirement>& requirements,
                           const std::vector<Call>& calls, const std::vector<EmittedKernel>& kernels,
                           MemoryPlan memory, const CompileOptions& options, const EmitOptions& emit) {
  CompiledRegion region;
  region.blob = has_open_sizes(graph) ? encode_open_plan(graph, requirements, calls, kernels, options, memory)
                                      : encode_plan(graph, calls, kernels, options, emit, memory);
  region.constants = std::move(memory.constants);
  region.workspace_bytes = memory.workspace_bytes;
  for (const auto& [why, bytes] : memory.growths)
    if (bytes > 0) region.growths.push_back({why, bytes});
  std::set<std::string> seen;
  for (const EmittedKernel& kernel : kernels)
    if (seen.insert(kernel.symbol).second) region.object_files.push_back(kernel.object_file);
  region.kernels = static_cast<int>(region.object_files.size());
  // Code with checks includes Halide's own runtime.
  if (!emit.checks && !kernels.empty()) region.object_files.push_back(glue_object());
  return region;
}

}  // namespace intarsia::halide
