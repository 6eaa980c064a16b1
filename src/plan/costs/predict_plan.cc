#include "plan/costs/predict_plan.h"

#include <cmath>

#include "plan/costs/boundary_prices.h"
#include "plan/costs/find_segments.h"
#include "plan/costs/plan_keys.h"
#include "plan/costs/segment_times.h"
#include "plan/place/mix_backends.h"

namespace intarsia {
namespace {

/// Finds the segments of plans that could run anything anywhere.
Segments find_all_segments(const PlanningProblem& problem) {
  const std::vector<bool> anywhere(problem.targets.size(), true);
  const auto groups = find_groups(problem);
  return list_segments(find_segments(problem, std::vector(problem.graph.nodes.size(), anywhere),
                                     groups ? *groups : std::vector<std::vector<size_t>>()));
}

std::vector<std::vector<Link>> known_links(const PlanningProblem& problem, CostTable& table) {
  const size_t spaces = problem.spaces.size();
  std::vector<std::vector<Link>> links(spaces, std::vector<Link>(spaces));
  for (const DeviceSlot& from : problem.slots) {
    for (const DeviceSlot& to : problem.slots) {
      const auto cost = from.space == to.space ? std::nullopt : table.find_link(link_key(from), link_key(to));
      if (cost) links[from.space][to.space] = {std::llround(cost->latency_ns), cost->ns_per_byte};
    }
  }
  return links;
}

}  // namespace

std::optional<PlanPrediction> predict_plan(const PlanningProblem& problem, const Placement& placement,
                                           CostTable& table, const CostKey& conditions) {
  SegmentCosts costs{.segments = find_all_segments(problem)};
  std::vector<uint32_t> target_of;
  for (const std::vector<NodeId>& segment : costs.segments) {
    const uint32_t target = placement[segment[0]].target;
    if (!std::ranges::all_of(segment, [&](NodeId node) { return placement[node].target == target; }))
      return std::nullopt;
    target_of.push_back(target);
  }
  const std::vector<CostKey> keys = segment_keys(problem, costs.segments, target_of, conditions);
  const std::map<CostKey, Cost> known = table.find(keys);
  for (size_t s = 0; s < keys.size(); ++s) {
    const auto row = known.find(keys[s]);
    if (row == known.end()) return std::nullopt;
    costs.times.emplace_back(problem.targets.size(), never)[target_of[s]] = row->second.timing.nanoseconds;
  }
  costs.links = known_links(problem, table);
  costs.boundaries = known_boundaries(problem, conditions.threads, table);
  const int64_t total = price_placement(problem, placement, costs);
  if (total == never) return std::nullopt;
  return PlanPrediction{total, std::move(costs)};
}

}  // namespace intarsia
