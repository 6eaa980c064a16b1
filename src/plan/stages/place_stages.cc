#include "plan/stages/place_stages.h"

#include <map>
#include <optional>
#include <set>

#include "plan/place/plan_candidates.h"

namespace intarsia {
namespace {

/// Slots of the stages that have nodes of a backend, for backends with one pool of threads in the process.
using WantedSlots = std::map<const Target*, std::set<uint32_t>>;

WantedSlots find_wanted_slots(const std::vector<uint32_t>& slot_of_stage,
                              const std::vector<const Target*>& backends, const Placement& placement) {
  WantedSlots wanted;
  for (size_t i = 0; i < backends.size(); ++i) {
    const Target* const backend = backends[i];
    if (backend->info().has_one_pool) wanted[backend].insert(slot_of_stage[placement.nodes[i].stage]);
  }
  return wanted;
}

/// Returns the target that the node gets on the slot; nullopt if it cannot be there.
std::optional<uint32_t> target_on_slot(const PlanningProblem& problem, const Placement& placement,
                                       const WantedSlots& wanted, NodeId node, uint32_t slot,
                                       const Target* backend) {
  std::optional<uint32_t> first;
  for (uint32_t target = 0; target < problem.targets.size(); ++target) {
    const Target* const other = problem.targets[target].backend;
    if (problem.targets[target].slot != slot || !may_go(problem, placement, node, target)) continue;
    const bool has_cores = !other->info().has_one_pool || (other == backend && wanted.at(other).size() == 1);
    if (!has_cores) continue;
    if (other == backend) return target;
    if (!first) first = target;
  }
  return first;
}

}  // namespace

void place_stages(const PlanningProblem& problem, const std::vector<uint32_t>& slot_of_stage,
                  const std::vector<const Target*>& preferred, Placement& placement) {
  std::vector<const Target*> backends = preferred;
  for (size_t i = 0; i < backends.size(); ++i)
    if (backends[i] == nullptr) backends[i] = problem.targets[placement.nodes[i].target].backend;
  const WantedSlots wanted = find_wanted_slots(slot_of_stage, backends, placement);
  for (uint32_t i = 0; i < placement.nodes.size(); ++i) {
    const uint32_t stage = placement.nodes[i].stage, slot = slot_of_stage[stage];
    const PlacementTarget& now = problem.targets[placement.nodes[i].target];
    if (now.slot == slot && now.backend == backends[i]) continue;
    const std::optional<uint32_t> target =
        target_on_slot(problem, placement, wanted, NodeId{i}, slot, backends[i]);
    if (!target || *target == placement.nodes[i].target) continue;
    placement.nodes[i].target = *target;
    placement.nodes[i].reason = fmt::format("in stage {}, on {}", stage, problem.slots[slot].name);
  }
}

}  // namespace intarsia
