#include "plan/partition/split_branches.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plan/partition/is_work.h"
#include "plan/partition/partition_graph.h"

namespace intarsia {
namespace {

/// Limit of the search for branches, in nodes that it passes.
constexpr size_t most_effort = 200'000'000;

using Nodes = std::vector<NodeId>;
using Flags = std::vector<char>;  // indexed by node

class BranchSplitter {
 public:
  BranchSplitter(const PlanningProblem& problem, const Placement& placement, const Partition& partition,
                 size_t& effort)
      : graph_(problem.graph),
        problem_(problem),
        placement_(placement),
        partition_(partition),
        effort_(effort),
        readers_(graph_.nodes.size()) {
    for (const Region& region : partition.regions) has_work_.push_back(has_work(region.target, region.nodes));
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i)
      for (ValueId read : values_read(graph_.nodes[i]))
        if (const NodeId producer = graph_.value(read).producer; producer != no_node)
          readers_[index(producer)].push_back(NodeId{i});
    for (uint32_t i = 0; i < placement.nodes.size(); ++i)
      if (const uint32_t first = placement.nodes[i].group; first != i)
        groups_.try_emplace(first, Nodes{NodeId{first}}).first->second.push_back(NodeId{i});
  }

  std::vector<Region> split() {
    std::vector<Region> regions;
    for (uint32_t r = 0; r < partition_.regions.size(); ++r) {
      const std::optional<Halves> halves = has_work_[r] ? find_halves(r) : std::nullopt;
      if (!halves) {
        regions.push_back(partition_.regions[r]);
        continue;
      }
      for (const Nodes& half : *halves) regions.push_back({partition_.regions[r].target, half});
    }
    return regions;
  }

 private:
  using Halves = std::array<Nodes, 2>;

  uint32_t target_of(uint32_t region) const { return partition_.regions[region].target; }
  uint32_t slot_of(uint32_t region) const { return problem_.targets[target_of(region)].slot; }
  uint32_t space_of(uint32_t region) const { return problem_.space_of_target[target_of(region)]; }
  uint32_t region_of(NodeId node) const { return partition_.region_of[index(node)]; }

  /// Checks whether the nodes have work; on a device any node is: calls and copies take as long as short
  /// work.
  bool has_work(uint32_t target, const Nodes& nodes) const {
    if (problem_.space_of_target[target] != host_memory) return !nodes.empty();
    return std::ranges::any_of(nodes, [&](NodeId node) { return is_work(graph_.node(node)); });
  }

  /// Checks whether something that takes time is between the region and a node elsewhere.
  bool is_apart(uint32_t region, NodeId node) const {
    const uint32_t other = region_of(node);
    return slot_of(other) != slot_of(region) && (has_work_[other] || space_of(other) != space_of(region));
  }

  /// Checks whether the value is copied while the region goes on.
  bool is_copied(uint32_t region, ValueId made) const {
    const auto is_in_other_memory = [&](NodeId reader) {
      return space_of(region_of(reader)) != space_of(region);
    };
    const bool is_output = std::ranges::find(graph_.outputs, made) != graph_.outputs.end();
    return (is_output && space_of(region) != host_memory) ||
           std::ranges::any_of(readers_[index(graph_.value(made).producer)], is_in_other_memory);
  }

  /// Divides the region in two, where another executor needs only the first, or makes what only the second
  /// needs. Returns nullopt if there is no such division.
  std::optional<Halves> find_halves(uint32_t region) {
    const Boundary& boundary = partition_.boundaries[region];
    for (ValueId input : boundary.inputs) {
      const NodeId maker = graph_.value(input).producer;
      if (maker == no_node || !is_apart(region, maker)) continue;
      Halves halves = divide(region, find_dependents(maker));
      if (!halves[1].empty() && has_work(target_of(region), halves[0])) return halves;
    }
    for (ValueId output : boundary.outputs) {
      const NodeId maker = graph_.value(output).producer;
      for (NodeId reader : readers_[index(maker)]) {
        if (region_of(reader) == region || !is_apart(region, reader)) continue;
        if (auto halves = divide_after(region, reader)) return halves;
      }
      if (!is_copied(region, output)) continue;
      if (auto halves = divide_after(region, maker)) return halves;
    }
    return std::nullopt;
  }

  /// Divides the region into what the node needs, and the rest.
  std::optional<Halves> divide_after(uint32_t region, NodeId node) {
    Flags is_late = find_needed(node);
    for (char& flag : is_late) flag = flag == 0;
    Halves halves = divide(region, is_late);
    if (halves[0].empty() || !has_work(target_of(region), halves[1])) return std::nullopt;
    return halves;
  }

  Halves divide(uint32_t region, const Flags& is_late) const {
    Halves halves;
    for (NodeId node : partition_.regions[region].nodes) halves[is_late[index(node)] ? 1 : 0].push_back(node);
    return halves;
  }

  /// Finds the node, and all that depend on it, with their groups.
  Flags find_dependents(NodeId node) {
    return find_reached(node, [&](NodeId from, auto visit) {
      for (NodeId reader : readers_[index(from)]) visit(reader);
    });
  }

  /// Finds the node, and all that it depends on, with their groups.
  Flags find_needed(NodeId node) {
    return find_reached(node, [&](NodeId from, auto visit) {
      for (ValueId read : values_read(graph_.node(from)))
        if (const NodeId producer = graph_.value(read).producer; producer != no_node) visit(producer);
    });
  }

  template <typename ForEachNext>
  Flags find_reached(NodeId node, ForEachNext for_each_next) {
    Flags is_reached(graph_.nodes.size(), 0);
    effort_ -= std::min(effort_, is_reached.size());
    Nodes open;
    const auto visit = [&](NodeId next) {
      if (std::exchange(is_reached[index(next)], 1) == 0) open.push_back(next);
    };
    visit(node);
    while (!open.empty()) {
      const NodeId from = open.back();
      open.pop_back();
      for_each_next(from, visit);
      visit_group(from, visit);
    }
    return is_reached;
  }

  void visit_group(NodeId node, auto visit) const {
    const auto group = groups_.find(placement_[node].group);
    if (group == groups_.end()) return;
    for (NodeId other : group->second) visit(other);
  }

  const Graph& graph_;
  const PlanningProblem& problem_;
  const Placement& placement_;
  const Partition& partition_;
  size_t& effort_;                    // effort that is left
  std::vector<char> has_work_;        // indexed by region
  std::vector<Nodes> readers_;        // indexed by node
  std::map<uint32_t, Nodes> groups_;  // groups of several nodes, by the lowest
};

/// Ends regions where another region on their executor was scheduled between their nodes.
std::vector<Region> split_by_rank(const PlanningProblem& problem, const Placement& placement,
                                  const Partition& partition) {
  const auto rank_of = [&](NodeId node) { return placement[node].rank; };
  std::map<uint32_t, std::map<uint32_t, uint32_t>> region_at;  // region, by slot and rank
  for (uint32_t r = 0; r < partition.regions.size(); ++r)
    for (NodeId node : partition.regions[r].nodes)
      region_at[problem.targets[partition.regions[r].target].slot][rank_of(node)] = r;
  std::vector<Region> regions;
  for (uint32_t r = 0; r < partition.regions.size(); ++r) {
    const Region& region = partition.regions[r];
    std::vector<NodeId> nodes = region.nodes;
    std::ranges::stable_sort(nodes, {}, rank_of);
    const auto& there = region_at[problem.targets[region.target].slot];
    regions.push_back({region.target, {}});
    for (NodeId node : nodes) {
      auto between = regions.back().nodes.empty() ? there.end()
                                                  : there.upper_bound(rank_of(regions.back().nodes.back()));
      while (between != there.end() && between->first < rank_of(node) && between->second == r) ++between;
      if (between != there.end() && between->first < rank_of(node)) regions.push_back({region.target, {}});
      regions.back().nodes.push_back(node);
    }
  }
  for (Region& region : regions) std::ranges::sort(region.nodes);
  return regions;
}

/// Orders regions as their first nodes were scheduled, each after those that it reads from.
std::vector<Region> order_regions(const Graph& graph, const Placement& placement,
                                  const Partition& partition) {
  std::vector<uint32_t> rank;
  for (const Region& region : partition.regions) {
    const auto rank_of = [&](NodeId node) { return placement[node].rank; };
    rank.push_back(rank_of(std::ranges::min(region.nodes, {}, rank_of)));
  }
  std::vector<std::set<uint32_t>> readers(partition.regions.size());
  std::vector<size_t> missing(partition.regions.size());
  for (uint32_t r = 0; r < partition.regions.size(); ++r)
    for (ValueId input : partition.boundaries[r].inputs) {
      const NodeId producer = graph.value(input).producer;
      if (producer != no_node) missing[r] += readers[partition.region_of[index(producer)]].insert(r).second;
    }
  std::set<std::pair<uint32_t, uint32_t>> ready;
  for (uint32_t r = 0; r < missing.size(); ++r)
    if (missing[r] == 0) ready.emplace(rank[r], r);
  std::vector<Region> ordered;
  while (!ready.empty()) {
    const uint32_t next = ready.extract(ready.begin()).value().second;
    ordered.push_back(partition.regions[next]);
    for (uint32_t reader : readers[next])
      if (--missing[reader] == 0) ready.emplace(rank[reader], reader);
  }
  return ordered;
}

}  // namespace

void split_branches(const PlanningProblem& problem, const Placement& placement, Partition& partition) {
  // Stages mostly run on one executor: others wait for the whole stage, whatever it does first.
  if (problem.slots.size() < 2 || placement.is_staged) return;
  size_t effort = most_effort, before = 1;
  while (partition.regions.size() > before && effort > 0) {
    before = partition.regions.size();
    partition = number_regions(problem.graph, BranchSplitter(problem, placement, partition, effort).split());
  }
  if (!placement.is_scheduled) return;
  partition = number_regions(problem.graph, split_by_rank(problem, placement, partition));
  partition = number_regions(problem.graph, order_regions(problem.graph, placement, partition));
}

}  // namespace intarsia
