#include "plan/split_branches.h"

#include <algorithm>
#include <set>

#include "plan/is_work.h"

namespace intarsia {
namespace {

/// With more regions than this nobody looks for branches.
constexpr size_t max_regions = 4096;

class BranchSplitter {
 public:
  BranchSplitter(const PlanningProblem& problem, const Placement& placement, const Partition& partition)
      : graph_(problem.graph), problem_(problem), placement_(placement), partition_(partition) {
    for (uint32_t r = 0; r < partition.regions.size(); ++r) before_.push_back(find_before(r));
  }

  std::vector<Region> split() {
    std::vector<Region> regions;
    for (uint32_t r = 0; r < partition_.regions.size(); ++r) {
      const Region& region = partition_.regions[r];
      Region early{region.target, {}}, late{region.target, {}};
      const std::vector<bool> waits = find_waiting(r);
      for (size_t i = 0; i < region.nodes.size(); ++i)
        (waits[i] ? late : early).nodes.push_back(region.nodes[i]);
      if (is_worth_it(r, early.nodes, late.nodes)) {
        regions.push_back(std::move(early));
        regions.push_back(std::move(late));
      } else {
        regions.push_back(region);
      }
    }
    return regions;
  }

 private:
  uint32_t slot_of(uint32_t region) const { return problem_.targets[partition_.regions[region].target].slot; }

  /// Regions that the nodes read from.
  std::set<uint32_t> regions_read(std::span<const NodeId> nodes) const {
    std::set<uint32_t> regions;
    for (NodeId node : nodes) {
      for (ValueId read : values_read(graph_.node(node))) {
        const NodeId producer = graph_.value(read).producer;
        if (producer != no_node) regions.insert(partition_.region_of[index(producer)]);
      }
    }
    return regions;
  }

  /// With all that are before those.
  std::vector<bool> all_before(const std::set<uint32_t>& regions) const {
    std::vector<bool> before(partition_.regions.size(), false);
    for (uint32_t other : regions) {
      before[other] = true;
      if (other >= before_.size()) continue;  // the region itself
      for (size_t i = 0; i < before.size(); ++i) {
        if (before_[other][i]) before[i] = true;
      }
    }
    return before;
  }

  std::vector<bool> find_before(uint32_t region) const {
    std::vector<bool> before = all_before(regions_read(partition_.regions[region].nodes));
    before[region] = false;
    return before;
  }

  /// By node of the region: must it wait for another executor?
  std::vector<bool> find_waiting(uint32_t region) const {
    const std::vector<NodeId>& nodes = partition_.regions[region].nodes;
    std::set<NodeId> waiting;
    std::set<uint32_t> waiting_groups;
    const auto must_wait = [&](NodeId node) {
      if (!placement_.group.empty() && waiting_groups.contains(placement_.group[index(node)])) return true;
      return std::ranges::any_of(values_read(graph_.node(node)), [&](ValueId read) {
        const NodeId producer = graph_.value(read).producer;
        if (producer == no_node) return false;
        const uint32_t made_in = partition_.region_of[index(producer)];
        return made_in == region ? waiting.contains(producer) : slot_of(made_in) != slot_of(region);
      });
    };
    for (bool is_growing = true; is_growing;) {  // again where a group took an earlier node along
      is_growing = false;
      for (NodeId node : nodes) {
        if (!must_wait(node) || !waiting.insert(node).second) continue;
        if (!placement_.group.empty())
          is_growing |= waiting_groups.insert(placement_.group[index(node)]).second;
      }
    }
    std::vector<bool> waits;
    for (NodeId node : nodes) waits.push_back(waiting.contains(node));
    return waits;
  }

  bool has_work(std::span<const NodeId> nodes) const {
    return std::ranges::any_of(nodes, [&](NodeId node) { return is_work(graph_.node(node)); });
  }

  /// Is there work of another executor that the late nodes wait for, and the early ones do not?
  bool is_worth_it(uint32_t region, std::span<const NodeId> early, std::span<const NodeId> late) const {
    if (late.empty() || !has_work(early)) return false;
    std::set<uint32_t> read_early = regions_read(early);
    read_early.erase(region);
    const std::vector<bool> before_early = all_before(read_early);
    return std::ranges::any_of(regions_read(late), [&](uint32_t other) {
      return slot_of(other) != slot_of(region) && !before_early[other] &&
             has_work(partition_.regions[other].nodes);
    });
  }

  const Graph& graph_;
  const PlanningProblem& problem_;
  const Placement& placement_;
  const Partition& partition_;
  std::vector<std::vector<bool>> before_;  // by region, ascending
};

}  // namespace

void split_branches(const PlanningProblem& problem, const Placement& placement, Partition& partition) {
  const bool is_many = partition.regions.size() > 1 && partition.regions.size() <= max_regions;
  // A stage is run by one executor, mostly: what it does earlier, others wait for none the less.
  if (!is_many || problem.slots.size() < 2 || !placement.stage.empty()) return;
  partition = number_regions(problem.graph, BranchSplitter(problem, placement, partition).split());
}

}  // namespace intarsia
