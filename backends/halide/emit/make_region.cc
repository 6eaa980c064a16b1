#include "backends/halide/emit/make_region.h"

#include <algorithm>
#include <set>

#include "backends/halide/abi/kernel_symbol.h"
#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/emit/encode_open_plan.h"
#include "backends/halide/emit/encode_plan.h"
#include "backends/halide/emit/glue_object.h"
#include "backends/halide/emit/list_calls.h"
#include "base/cpu_level.h"

namespace intarsia::halide {

namespace {

/// Returns what a run allocates once it knows the sizes: buffers, and the workers' scratch memory.
std::vector<OpenWorkspace> open_workspace(const MemoryPlan& memory, const std::vector<EmittedKernel>& kernels,
                                          int threads) {
  std::vector<OpenWorkspace> parts = memory.buffers;
  int last = 0;
  for (const OpenWorkspace& part : parts) last = std::max(last, part.last);
  uint64_t scratch = 0;
  for (const EmittedKernel& kernel : kernels) scratch = std::max<uint64_t>(scratch, kernel.scratch_bytes);
  parts.push_back({static_cast<int64_t>(scratch + open_scratch_bytes) * threads, 0, last});
  return parts;
}

}  // namespace

CompiledRegion make_region(const Graph& graph, const std::vector<SizeRequirement>& requirements,
                           const std::vector<Call>& calls, const std::vector<EmittedKernel>& kernels,
                           MemoryPlan memory, const CompileOptions& options, const EmitOptions& emit) {
  CompiledRegion region;
  const bool is_open = is_bound_by_runs(graph);
  region.blob = is_open ? encode_open_plan(graph, requirements, calls, kernels, options, memory)
                        : encode_plan(graph, calls, kernels, options, emit, memory);
  if (options.for_plain_c)
    region.calls = std::make_shared<const RegionCalls>(
        list_calls(graph, requirements, calls, kernels, memory, options, emit));
  if (is_open) region.open_workspace = open_workspace(memory, kernels, options.threads);
  region.constants = std::move(memory.constants);
  region.workspace_bytes = memory.workspace_bytes;
  for (const auto& [why, bytes] : memory.growths)
    if (bytes > 0) region.growths.push_back({why, bytes});
  DotProducts needed = DotProducts::none;
  for (const Call& call : calls) needed = std::max(needed, dot_products_of(call.kernel));
  region.cpu_features = features_of_dot_products(needed);
  std::set<std::string> seen;
  for (const EmittedKernel& kernel : kernels)
    if (seen.insert(kernel.symbol).second) region.object_files.push_back(kernel.object_file);
  region.stack_bytes = stack_of(kernels);
  region.kernels = static_cast<int>(region.object_files.size());
  // Code with checks includes Halide's own runtime.
  if (!emit.checks && !kernels.empty())
    region.object_files.push_back(glue_object(arch_of_level(calls.front().kernel.isa.level)));
  if (needed != DotProducts::none && !multiplies_bf16(needed))
    region.object_files.push_back(dot_tiles_object(needed));
  const auto calls_routine =
      std::ranges::find(calls, Form::routine, [](const Call& call) { return call.kernel.form; });
  if (calls_routine != calls.end())
    region.object_files.push_back(routines_object(calls_routine->kernel.isa.level));
  return region;
}

}  // namespace intarsia::halide
