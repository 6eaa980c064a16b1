#include "plan/costs/price_segments.h"

#include <algorithm>
#include <cmath>

#include "plan/costs/find_segments.h"
#include "plan/costs/segment_times.h"
#include "plan/place/plan_candidates.h"

namespace intarsia {
namespace {

/// Returns, for each node, whether each target ran it.
std::vector<std::vector<bool>> targets_tried(const PlanningProblem& problem,
                                             const std::vector<const Plan*>& plans) {
  const std::vector<bool> none(problem.targets.size(), false);
  std::vector<std::vector<bool>> tried(problem.graph.nodes.size(), none);
  for (const Plan* plan : plans) {
    for (size_t node = 0; node < tried.size(); ++node) tried[node][plan->placement.nodes[node].target] = true;
  }
  return tried;
}

Result<std::vector<std::vector<Link>>> time_links(const PlanningProblem& problem,
                                                  const std::vector<const Plan*>& plans,
                                                  const TimeLink& time_link) {
  const size_t spaces = problem.spaces.size();
  std::vector<std::vector<Link>> links(spaces, std::vector<Link>(spaces));
  std::set<uint32_t> used{host_memory};
  for (const Plan* plan : plans) {
    for (const Region& region : plan->partition.regions) used.insert(problem.space_of_target[region.target]);
  }
  for (uint32_t from : used) {
    for (uint32_t to : used) {
      if (from == to) continue;
      const auto slot_in = [&](uint32_t space) -> const DeviceSlot& {
        return *std::ranges::find(problem.slots, space, &DeviceSlot::space);
      };
      const LinkCost cost = TRY(time_link(slot_in(from), slot_in(to)));
      links[from][to] = {std::llround(cost.latency_ns), cost.ns_per_byte};
    }
  }
  return links;
}

/// Checks whether the targets are equal executors; both may also run in one process.
bool are_equal(const PlanningProblem& problem, uint32_t one, uint32_t other) {
  const auto slot_of = [&](uint32_t target) { return problem.slots[problem.targets[target].slot]; };
  return problem.targets[one].backend == problem.targets[other].backend &&
         !problem.targets[one].backend->info().has_one_pool &&
         problem.space_of_target[one] == problem.space_of_target[other] &&
         slot_of(one).cores() == slot_of(other).cores();
}

void copy_to_equal_executors(const PlanningProblem& problem, const Placement& placed, SegmentCosts& costs) {
  for (size_t s = 0; s < costs.segments.size(); ++s) {
    const auto is_free = [&](NodeId node) { return may_move(problem, placed, node); };
    if (!std::ranges::all_of(costs.segments[s], is_free)) continue;
    const std::vector<int64_t> timed = costs.times[s];
    for (uint32_t target = 0; target < timed.size(); ++target) {
      for (uint32_t other = 0; other < timed.size(); ++other) {
        const bool is_open = !problem.targets[target].takes_only_pinned;
        if (is_open && timed[target] == never && are_equal(problem, target, other))
          costs.times[s][target] = std::min(costs.times[s][target], timed[other]);
      }
    }
  }
}

}  // namespace

Result<SegmentCosts> price_segments(const PlanningProblem& problem, const std::vector<const Plan*>& plans,
                                    const Placement& placed, PlanTimer& timer, const TimeLink& time_link) {
  SegmentCosts costs;
  costs.segments =
      list_segments(find_segments(problem, targets_tried(problem, plans), TRY(find_groups(problem))));
  costs.links = TRY(time_links(problem, plans, time_link));
  const auto times = TRY(timer.time_segments(plans, costs.segments));
  costs.times.assign(costs.segments.size(), std::vector<int64_t>(problem.targets.size(), never));
  for (size_t p = 0; p < plans.size(); ++p) {
    for (size_t s = 0; s < costs.segments.size(); ++s) {
      int64_t& least = costs.times[s][plans[p]->placement[costs.segments[s][0]].target];
      least = std::min(least, times[p][s]);
    }
  }
  copy_to_equal_executors(problem, placed, costs);
  return costs;
}

bool correct_prices(const PlanningProblem& problem, const Plan& plan, PlanTimer& timer, SegmentCosts& costs) {
  constexpr double close = 0.1;
  const std::vector<int64_t> taken = timer.times_within(plan, costs.segments);
  if (taken.empty()) return false;
  const auto target_of = [&](size_t s) { return plan.placement[costs.segments[s][0]].target; };
  std::vector<double> priced(plan.partition.regions.size(), 0), took(priced);
  for (size_t s = 0; s < taken.size(); ++s) {
    const std::optional<uint32_t> region = region_of_segment(plan.partition, costs.segments[s]);
    if (!region || taken[s] == never) continue;
    priced[*region] += static_cast<double>(costs.times[s][target_of(s)]);
    took[*region] += static_cast<double>(taken[s]);
  }
  std::vector<int64_t> corrected(taken.size(), never);
  for (size_t s = 0; s < taken.size(); ++s) {
    const std::optional<uint32_t> region = region_of_segment(plan.partition, costs.segments[s]);
    if (!region || taken[s] == never) continue;
    if (std::abs(took[*region] - priced[*region]) <= close * priced[*region]) continue;
    corrected[s] = taken[s];
    for (uint32_t target = 0; target < problem.targets.size(); ++target)
      if (costs.times[s][target] != never &&
          (target == target_of(s) || are_equal(problem, target_of(s), target)))
        costs.times[s][target] = taken[s];
  }
  timer.correct_segments(plan, costs.segments, corrected);
  return std::ranges::any_of(corrected, [](int64_t time) { return time != never; });
}

bool can_work_side_by_side(const PlanningProblem& problem, const Plan& plan) {
  const auto has_twin = [&](const Region& region) {
    for (uint32_t other = 0; other < problem.targets.size(); ++other)
      if (other != region.target && !problem.targets[other].takes_only_pinned &&
          are_equal(problem, region.target, other))
        return true;
    return false;
  };
  return std::ranges::any_of(plan.partition.regions, [&](const Region& region) {
    const auto is_free = [&](NodeId node) { return may_move(problem, plan.placement, node); };
    return has_twin(region) && std::ranges::any_of(region.nodes, is_free);
  });
}

}  // namespace intarsia
