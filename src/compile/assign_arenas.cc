#include "compile/assign_arenas.h"

#include <map>

#include "base/arena_plan.h"

namespace intarsia {
namespace {

/// What lies in an arena: a value, or the workspace of a step.
struct Tenant {
  uint64_t* offset;
  Lifetime lifetime;
};

/// The values of one slot, each alive from the step that makes it to the last that reads it.
std::vector<Tenant> find_values(fbs::FunctionT& function, uint32_t slot) {
  std::vector<Tenant> tenants;
  std::map<uint32_t, size_t> tenant_of_value;
  for (size_t s = 0; s < function.steps.size(); ++s) {
    const fbs::StepT& step = *function.steps[s];
    const int now = static_cast<int>(s);
    for (uint32_t input : step.inputs) {
      if (auto at = tenant_of_value.find(input); at != tenant_of_value.end())
        tenants[at->second].lifetime.last = now;
    }
    for (uint32_t output : step.outputs) {
      fbs::ValueT& value = *function.values[output];
      if (value.storage != fbs::Storage::arena || value.slot != slot) continue;
      const size_t bytes =
          dtype_bytes(static_cast<DType>(value.dtype), static_cast<size_t>(element_count(value.dims)));
      tenant_of_value[output] = tenants.size();
      tenants.push_back({&value.offset, {bytes, now, now}});
    }
  }
  return tenants;
}

/// The workspaces of the regions that run on the slot, each alive during its step.
std::vector<Tenant> find_workspaces(const FunctionParts& parts, uint32_t first_region,
                                    fbs::FunctionT& function, uint32_t slot) {
  std::vector<Tenant> tenants;
  for (size_t s = 0; s < function.steps.size(); ++s) {
    fbs::StepT& step = *function.steps[s];
    if (step.kind != fbs::StepKind::run) continue;
    const uint32_t region = step.region - first_region;
    const size_t bytes = parts.regions.regions[region].workspace_bytes;
    if (bytes > 0 && parts.problem.targets[parts.plan.partition.regions[region].target].slot == slot)
      tenants.push_back({&step.workspace_offset, {bytes, static_cast<int>(s), static_cast<int>(s)}});
  }
  return tenants;
}

}  // namespace

Status assign_arenas(const FunctionParts& parts, uint32_t first_region, fbs::FunctionT& function) {
  for (uint32_t slot = 0; slot < parts.problem.slots.size(); ++slot) {
    std::vector<Tenant> tenants = find_values(function, slot);
    for (const Tenant& workspace : find_workspaces(parts, first_region, function, slot))
      tenants.push_back(workspace);
    std::vector<Lifetime> lifetimes;
    for (const Tenant& tenant : tenants) lifetimes.push_back(tenant.lifetime);
    const ArenaPlan plan = plan_arena(lifetimes);
    TRY(with_context(verify_arena(lifetimes, plan), "internal error: arena of slot '{}'",
                     parts.problem.slots[slot].name));
    for (size_t i = 0; i < tenants.size(); ++i) *tenants[i].offset = plan.offsets[i];
    function.arena_bytes.push_back(plan.bytes);
  }
  return {};
}

}  // namespace intarsia
