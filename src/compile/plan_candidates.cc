#include "compile/plan_candidates.h"

#include <algorithm>
#include <set>

namespace intarsia {
namespace {

bool is_framework(const CompileResult& plan, uint32_t target) {
  return plan.targets[target].backend->needs_framework();
}

bool may_move(const CompileResult& plan, NodeId node) {
  const Placement& placement = plan.placement;
  const bool pinned = !placement.pinned.empty() && placement.pinned[index(node)];
  return !pinned && !plan.targets[placement.target[index(node)]].backend->is_users_own();
}

bool could_run(const CompileResult& plan, uint32_t framework, const Region& region) {
  if (is_framework(plan, region.target) || plan.targets[region.target].slot != plan.targets[framework].slot)
    return false;
  const Target& backend = *plan.targets[framework].backend;
  return std::ranges::all_of(region.nodes, [&](NodeId node) {
    return may_move(plan, node) && backend.supports(plan.graph, node).yes;
  });
}

/// For every region how many values it exchanges with regions of each framework.
std::vector<std::map<uint32_t, size_t>> count_exchanged(const CompileResult& plan) {
  const std::vector<Region>& regions = plan.partition.regions;
  std::vector<std::map<uint32_t, size_t>> exchanged(regions.size());
  for (uint32_t reader = 0; reader < regions.size(); ++reader) {
    for (ValueId input : plan.boundaries[reader].inputs) {
      const NodeId producer = plan.graph.value(input).producer;
      if (producer == no_node) continue;
      const uint32_t maker = plan.partition.region_of[index(producer)];
      if (is_framework(plan, regions[maker].target)) ++exchanged[reader][regions[maker].target];
      if (is_framework(plan, regions[reader].target)) ++exchanged[maker][regions[reader].target];
    }
  }
  return exchanged;
}

}  // namespace

bool is_mixed(const CompileResult& plan) {
  const auto framework = [&](const Region& region) { return is_framework(plan, region.target); };
  return std::ranges::any_of(plan.partition.regions, framework) &&
         !std::ranges::all_of(plan.partition.regions, framework);
}

std::vector<Island> find_islands(const CompileResult& plan) {
  const std::vector<std::map<uint32_t, size_t>> exchanged = count_exchanged(plan);
  std::vector<Island> islands;
  for (uint32_t r = 0; r < exchanged.size(); ++r) {
    if (exchanged[r].empty()) continue;
    const auto most =
        std::ranges::max_element(exchanged[r], {}, [](const auto& entry) { return entry.second; });
    if (could_run(plan, most->first, plan.partition.regions[r])) islands.push_back({r, most->first});
  }
  return islands;
}

CompileResult hand_over_islands(const CompileResult& plan, const std::vector<Island>& islands) {
  CompileResult apart = plan;
  for (const Island& island : islands) {
    apart.partition.regions[island.region].target = island.framework;
    for (NodeId node : apart.partition.regions[island.region].nodes)
      apart.placement.target[index(node)] = island.framework;
  }
  return apart;
}

std::optional<Placement> place_all_on(const CompileResult& plan, uint32_t framework) {
  Placement placement = plan.placement;
  for (uint32_t i = 0; i < placement.target.size(); ++i) {
    if (placement.target[i] == framework || !may_move(plan, NodeId{i})) continue;
    if (!plan.targets[framework].backend->supports(plan.graph, NodeId{i}).yes) return std::nullopt;
    placement.target[i] = framework;
  }
  if (placement.target == plan.placement.target) return std::nullopt;
  return placement;
}

std::vector<uint32_t> frameworks_of(const CompileResult& plan) {
  std::vector<uint32_t> frameworks;
  std::set<const Target*> seen;
  std::set<uint32_t> used;
  for (const Region& region : plan.partition.regions) used.insert(region.target);
  for (uint32_t target : used) {
    if (is_framework(plan, target) && seen.insert(plan.targets[target].backend).second)
      frameworks.push_back(target);
  }
  return frameworks;
}

}  // namespace intarsia
