#include "compile/assign_arenas.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "base/arena_plan.h"
#include "program/step_order.h"

namespace intarsia {
namespace {

/// A value or a step's workspace that occupies arena memory, alive from the first of its steps to the last.
struct Tenant {
  uint64_t* offset;
  size_t bytes;
  std::vector<uint32_t> steps;  // the step that makes it comes first
};

/// Finds the arena values of one space.
std::vector<Tenant> find_values(fbs::FunctionT& function, uint32_t space) {
  std::vector<Tenant> tenants;
  std::map<uint32_t, size_t> tenant_of_value;
  for (uint32_t s = 0; s < function.steps.size(); ++s) {
    const fbs::StepT& step = *function.steps[s];
    for (uint32_t input : step.inputs) {
      if (auto at = tenant_of_value.find(input); at != tenant_of_value.end())
        tenants[at->second].steps.push_back(s);
    }
    for (uint32_t output : step.outputs) {
      fbs::ValueT& value = *function.values[output];
      if (value.storage != fbs::Storage::arena || value.space != space) continue;
      const size_t bytes =
          dtype_bytes(static_cast<DType>(value.dtype), static_cast<size_t>(element_count(value.dims)));
      tenant_of_value[output] = tenants.size();
      tenants.push_back({&value.offset, bytes, {s}});
    }
  }
  return tenants;
}

/// Finds the workspaces of the regions that run in the space, each alive during its step.
std::vector<Tenant> find_workspaces(const FunctionParts& parts, uint32_t first_region,
                                    fbs::FunctionT& function, uint32_t space) {
  std::vector<Tenant> tenants;
  for (uint32_t s = 0; s < function.steps.size(); ++s) {
    fbs::StepT& step = *function.steps[s];
    if (step.kind != fbs::StepKind::run) continue;
    const uint32_t region = step.region - first_region;
    const size_t bytes = parts.regions.regions[region].workspace_bytes;
    if (bytes > 0 && parts.problem.space_of_target[parts.plan.partition.regions[region].target] == space)
      tenants.push_back({&step.workspace_offset, bytes, {s}});
  }
  return tenants;
}

/// Puts the steps into the given sequence and renumbers their predecessors.
void reorder(fbs::FunctionT& function, const std::vector<uint32_t>& sequence) {
  std::vector<uint32_t> number(sequence.size());
  for (uint32_t i = 0; i < sequence.size(); ++i) number[sequence[i]] = i;
  std::vector<std::unique_ptr<fbs::StepT>> steps;
  for (uint32_t old : sequence) {
    steps.push_back(std::move(function.steps[old]));
    for (uint32_t& before : steps.back()->after) before = number[before];
    std::ranges::sort(steps.back()->after);
  }
  function.steps = std::move(steps);
}

/// Returns the order in which steps run when every slot is bound to a device of its own; an empty order if
/// nothing overlaps. Steps that were not scheduled are sorted into the sequence in which they may start, so
/// that memory is shared safely in this order by every runner, however slots are bound.
StepOrder plan_order(const FunctionParts& parts, uint32_t first_region, fbs::FunctionT& function) {
  // Regions and slots, with just the fields that assign_queues reads.
  fbs::ProgramT program;
  for (const DeviceSlot& slot : parts.problem.slots) {
    program.slots.push_back(std::make_unique<fbs::SlotT>());
    program.slots.back()->space = slot.space;
  }
  program.regions.resize(first_region);
  for (const Region& region : parts.plan.partition.regions) {
    program.regions.push_back(std::make_unique<fbs::RegionT>());
    program.regions.back()->slot = parts.problem.targets[region.target].slot;
  }
  std::vector<uint32_t> executors(parts.problem.slots.size());
  std::iota(executors.begin(), executors.end(), 0u);
  if (executors.size() < 2 || function.steps.size() > max_overlapping_steps) return {};
  const auto queues = [&] { return assign_queues(program, function, executors); };
  if (!order_steps(queues(), data_dependencies(function)).overlaps) return {};
  if (!parts.plan.placement.is_scheduled)
    reorder(function, sequence_steps(queues(), data_dependencies(function)));
  return order_steps(queues(), data_dependencies(function));
}

/// Returns the strictest alignment that the devices working in the space ask for.
size_t alignment_of(const PlanningProblem& problem, uint32_t space) {
  size_t alignment = tail_alignment;
  for (const DeviceSlot& slot : problem.slots)
    if (slot.space == space) alignment = std::max(alignment, slot.alignment);
  return alignment;
}

}  // namespace

Status assign_arenas(const FunctionParts& parts, uint32_t first_region, fbs::FunctionT& function) {
  const StepOrder order = plan_order(parts, first_region, function);
  for (uint32_t space = 0; space < parts.problem.spaces.size(); ++space) {
    std::vector<Tenant> tenants = find_values(function, space);
    for (Tenant& workspace : find_workspaces(parts, first_region, function, space))
      tenants.push_back(std::move(workspace));
    std::vector<size_t> bytes;
    for (const Tenant& tenant : tenants) bytes.push_back(tenant.bytes);
    const auto at_once = [&](size_t a, size_t b) {
      return are_alive_at_once(tenants[a].steps, tenants[b].steps, order);
    };
    const size_t alignment = alignment_of(parts.problem, space);
    const ArenaPlan plan = plan_arena(bytes, at_once, alignment);
    TRY(with_context(verify_arena(bytes, at_once, plan, alignment), "internal error: arena of '{}'",
                     parts.problem.spaces[space]));
    for (size_t i = 0; i < tenants.size(); ++i) *tenants[i].offset = plan.offsets[i];
    function.arena_bytes.push_back(plan.bytes);
  }
  return {};
}

}  // namespace intarsia
