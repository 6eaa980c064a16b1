#include "plan/place_stages.h"

#include <optional>

#include "plan/plan_candidates.h"

namespace intarsia {
namespace {

/// Of the targets on the slot; nothing: the node cannot be there.
std::optional<uint32_t> target_on_slot(const PlanningProblem& problem, const Placement& placement,
                                       NodeId node, uint32_t slot) {
  const Target* const backend = problem.targets[placement.target[index(node)]].backend;
  std::optional<uint32_t> first;
  for (uint32_t target = 0; target < problem.targets.size(); ++target) {
    if (problem.targets[target].slot != slot || !may_go(problem, placement, node, target)) continue;
    if (problem.targets[target].backend == backend) return target;
    if (!first) first = target;
  }
  return first;
}

}  // namespace

void place_stages(const PlanningProblem& problem, const std::vector<uint32_t>& slot_of_stage,
                  Placement& placement) {
  for (uint32_t i = 0; i < placement.target.size(); ++i) {
    const uint32_t stage = placement.stage[i], slot = slot_of_stage[stage];
    if (problem.targets[placement.target[i]].slot == slot) continue;
    const std::optional<uint32_t> target = target_on_slot(problem, placement, NodeId{i}, slot);
    if (!target) continue;
    placement.target[i] = *target;
    placement.reason[i] = fmt::format("in stage {}, on {}", stage, problem.slots[slot].name);
  }
}

}  // namespace intarsia
