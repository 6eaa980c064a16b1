#include "compile/assign_arenas.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "base/arena_plan.h"
#include "program/step_order.h"

namespace intarsia {
namespace {

/// What lies in an arena: a value, or the workspace of a step. Alive from the first of its steps to the last.
struct Tenant {
  uint64_t* offset;
  size_t bytes;
  std::vector<uint32_t> steps;  // the one that makes it first
};

/// The values of one space.
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

/// The workspaces of the regions that run in the space, each alive during its step.
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

/// Puts the steps into this sequence.
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

/// The order in which steps will run when every slot is bound to a device of its own; without overlap, none.
/// The steps get the sequence in which they will begin: what shares memory is then used in this order by
/// whoever runs them, however slots are bound.
StepOrder plan_order(const FunctionParts& parts, uint32_t first_region, fbs::FunctionT& function) {
  // Regions and slots as far as assign_queues looks at them.
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
  const auto order = [&] {
    return order_steps(assign_queues(program, function, executors), data_dependencies(function));
  };
  const StepOrder first = order();
  if (!first.overlaps) return {};
  reorder(function, first.sequence);
  return order();
}

/// Whether all steps of one tenant are done before the other is made.
bool is_dead_before(const Tenant& one, const Tenant& other, const StepOrder& order) {
  return std::ranges::all_of(one.steps, [&](uint32_t step) { return order.before[other.steps[0]][step]; });
}

bool are_alive_at_once(const Tenant& a, const Tenant& b, const StepOrder& order) {
  if (!order.overlaps) return a.steps.front() <= b.steps.back() && b.steps.front() <= a.steps.back();
  return !is_dead_before(a, b, order) && !is_dead_before(b, a, order);
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
    const auto at_once = [&](size_t a, size_t b) { return are_alive_at_once(tenants[a], tenants[b], order); };
    const ArenaPlan plan = plan_arena(bytes, at_once);
    TRY(with_context(verify_arena(bytes, at_once, plan), "internal error: arena of '{}'",
                     parts.problem.spaces[space]));
    for (size_t i = 0; i < tenants.size(); ++i) *tenants[i].offset = plan.offsets[i];
    function.arena_bytes.push_back(plan.bytes);
  }
  return {};
}

}  // namespace intarsia
