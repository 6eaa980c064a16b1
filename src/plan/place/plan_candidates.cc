#include "plan/place/plan_candidates.h"

#include <algorithm>
#include <set>

namespace intarsia {
namespace {

bool is_framework(const PlanningProblem& problem, uint32_t target) {
  return problem.targets[target].backend->info().needs_framework;
}

/// Checks whether the target takes the node without a pin.
bool takes(const PlacementTarget& target, const Graph& graph, NodeId node) {
  return !target.takes_only_pinned && target.backend->supports(graph, node, target.device).yes;
}

bool could_run(const PlanningProblem& problem, const Plan& plan, uint32_t framework, const Region& region) {
  if (is_framework(problem, region.target) ||
      problem.targets[region.target].slot != problem.targets[framework].slot)
    return false;
  return std::ranges::all_of(region.nodes, [&](NodeId node) {
    return may_move(problem, plan.placement, node) && takes(problem.targets[framework], problem.graph, node);
  });
}

/// Counts, for each region, the values that it exchanges with regions of each framework.
std::vector<std::map<uint32_t, size_t>> count_exchanged(const PlanningProblem& problem,
                                                        const Partition& partition) {
  const std::vector<Region>& regions = partition.regions;
  std::vector<std::map<uint32_t, size_t>> exchanged(regions.size());
  for (uint32_t reader = 0; reader < regions.size(); ++reader) {
    for (ValueId input : partition.boundaries[reader].inputs) {
      const NodeId producer = problem.graph.value(input).producer;
      if (producer == no_node) continue;
      const uint32_t from = partition.region_of[index(producer)];
      if (is_framework(problem, regions[from].target)) ++exchanged[reader][regions[from].target];
      if (is_framework(problem, regions[reader].target)) ++exchanged[from][regions[reader].target];
    }
  }
  return exchanged;
}

}  // namespace

bool may_move(const PlanningProblem& problem, const Placement& placement, NodeId node) {
  return !placement[node].pinned && !problem.targets[placement[node].target].backend->info().is_users_own;
}

bool may_go(const PlanningProblem& problem, const Placement& placement, NodeId node, uint32_t target) {
  if (placement[node].target == target) return true;
  return may_move(problem, placement, node) && takes(problem.targets[target], problem.graph, node);
}

std::string runner_name(const PlanningProblem& problem, uint32_t target) {
  return problem.slots.size() == 1 ? problem.targets[target].backend->name() : problem.targets[target].name;
}

std::set<std::string> runners_of(const PlanningProblem& problem, const Partition& partition) {
  std::set<std::string> names;
  for (const Region& region : partition.regions) names.insert(runner_name(problem, region.target));
  return names;
}

std::vector<NativeRegion> find_native_regions(const PlanningProblem& problem, const Plan& plan) {
  const std::vector<std::map<uint32_t, size_t>> exchanged = count_exchanged(problem, plan.partition);
  std::vector<NativeRegion> native_regions;
  for (uint32_t r = 0; r < exchanged.size(); ++r) {
    if (exchanged[r].empty()) continue;
    const auto most =
        std::ranges::max_element(exchanged[r], {}, [](const auto& entry) { return entry.second; });
    if (could_run(problem, plan, most->first, plan.partition.regions[r]))
      native_regions.push_back({r, most->first});
  }
  return native_regions;
}

Plan hand_over_native_regions(const Plan& plan, const std::vector<NativeRegion>& native_regions) {
  Plan apart = plan;
  for (const NativeRegion& native : native_regions) {
    apart.partition.regions[native.region].target = native.framework;
    for (NodeId node : apart.partition.regions[native.region].nodes)
      apart.placement[node].target = native.framework;
  }
  return apart;
}

std::optional<Placement> place_all_on(const PlanningProblem& problem, const Placement& placed,
                                      uint32_t target) {
  Placement placement = placed;
  for (uint32_t i = 0; i < placement.nodes.size(); ++i) {
    if (placement.nodes[i].target == target || !may_move(problem, placed, NodeId{i})) continue;
    if (!takes(problem.targets[target], problem.graph, NodeId{i})) return std::nullopt;
    placement.nodes[i].target = target;
  }
  if (placement.targets() == placed.targets()) return std::nullopt;
  return placement;
}

std::optional<Placement> place_within(const PlanningProblem& problem, const Placement& placed,
                                      const std::function<bool(uint32_t target)>& may_use,
                                      const std::string& why) {
  Placement placement = placed;
  for (uint32_t i = 0; i < placement.nodes.size(); ++i) {
    if (may_use(placement.nodes[i].target)) continue;
    uint32_t other = 0;
    const auto targets = static_cast<uint32_t>(problem.targets.size());
    while (other < targets && !(may_use(other) && takes(problem.targets[other], problem.graph, NodeId{i})))
      ++other;
    if (other == targets) return std::nullopt;
    placement.nodes[i].target = other;
    placement.nodes[i].reason = why;
  }
  if (placement.targets() == placed.targets()) return std::nullopt;
  return placement;
}

bool is_held_in_framework(const PlanningProblem& problem, const Placement& placement) {
  for (uint32_t i = 0; i < placement.nodes.size(); ++i) {
    if (is_framework(problem, placement.nodes[i].target) && !may_move(problem, placement, NodeId{i}))
      return true;
  }
  return false;
}

std::set<uint32_t> rivals_of(const PlanningProblem& problem, const Partition& partition) {
  std::set<uint32_t> rivals;
  std::set<std::tuple<const Target*, uint32_t, int>> seen;  // backend, memory, number of cores
  const auto identify = [&](uint32_t target) {
    const int cores = problem.slots[problem.targets[target].slot].cores();
    return std::tuple(problem.targets[target].backend, problem.space_of_target[target], cores);
  };
  const auto add = [&](uint32_t target) {
    const TargetInfo& info = problem.targets[target].backend->info();
    seen.insert(identify(target));
    const bool is_open = !problem.targets[target].takes_only_pinned;
    if (is_open && !info.is_unoptimized && !info.is_users_own) rivals.insert(target);
  };
  for (const Region& region : partition.regions) add(region.target);
  for (uint32_t target = 0; target < problem.targets.size(); ++target) {
    if (!seen.contains(identify(target))) add(target);
  }
  return rivals;
}

}  // namespace intarsia
