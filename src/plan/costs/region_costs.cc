#include "plan/costs/region_costs.h"

#include "plan/costs/plan_keys.h"
#include "plan/costs/segment_times.h"

namespace intarsia {

void predict_regions(const PlanningProblem& problem, const Partition& partition, const SegmentCosts& costs,
                     std::vector<RegionCost>& regions) {
  std::vector<int64_t> sums(regions.size());
  std::vector<bool> is_timed(problem.graph.nodes.size());
  for (size_t s = 0; s < costs.segments.size(); ++s) {
    const std::optional<uint32_t> region = region_of_segment(partition, costs.segments[s]);
    const int64_t time = region ? costs.times[s][partition.regions[*region].target] : never;
    if (time >= too_long) continue;
    for (NodeId node : costs.segments[s]) is_timed[index(node)] = true;
    sums[*region] += time;
  }
  for (size_t r = 0; r < regions.size(); ++r) {
    const bool is_known =
        std::ranges::all_of(partition.regions[r].nodes, [&](NodeId node) { return is_timed[index(node)]; });
    if (is_known) regions[r].predicted = sums[r];
  }
}

void recall_regions(const PlanningProblem& problem, const Partition& partition, CostTable& table,
                    const CostKey& conditions, std::vector<RegionCost>& regions) {
  const std::vector<CostKey> keys = part_keys(problem, partition, conditions);
  const std::map<CostKey, Cost> known = table.find(keys);
  for (size_t r = 0; r < keys.size(); ++r) {
    const auto row = known.find(keys[r]);
    if (row != known.end() && row->second.timing.nanoseconds != never)
      regions[r].measured = row->second.timing.nanoseconds;
  }
}

}  // namespace intarsia
