#include "plan/choose/find_alternatives.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "plan/partition/describe_plan.h"
#include "plan/place/plan_candidates.h"

namespace intarsia {

std::vector<AlternativePlan> find_alternatives(const PlanningProblem& problem, const Plan& shipped,
                                               const WantedAlternatives& wanted, const Replan& replan,
                                               const std::map<std::string, int64_t>& known) {
  const std::vector<std::string>& also = wanted.also;
  std::vector<AlternativePlan> found;
  std::set<std::string> seen{identify_plan(problem, shipped.partition)};
  const auto add = [&](const std::function<bool(uint32_t target)>& may_use, const std::string& why) {
    std::optional<Placement> placement = place_within(problem, shipped.placement, may_use, why);
    if (!placement) return;
    Result<Plan> plan = replan(std::move(*placement));
    if (!plan) return;
    const std::string identity = identify_plan(problem, plan->partition);
    if (!seen.insert(identity).second) return;
    const auto time = known.find(identity);
    if (time != known.end() && time->second == never) return;
    found.push_back({std::move(*plan), time == known.end() ? std::nullopt : std::optional(time->second)});
  };
  const auto is_ours = [&](uint32_t target) {
    return !problem.targets[target].backend->info().needs_framework;
  };
  const auto is_also = [&](uint32_t target) {
    return std::ranges::find(also, problem.slots[problem.targets[target].slot].name) != also.end();
  };
  const bool is_freed = !wanted.only_also && !is_held_in_framework(problem, shipped.placement);
  if (is_freed) add(is_ours, "without frameworks");
  if (also.empty()) return found;
  const std::string why = fmt::format("with {} only", fmt::join(also, ", "));
  add(is_also, why);
  if (is_freed)
    add([&](uint32_t target) { return is_ours(target) && is_also(target); }, why + ", without frameworks");
  return found;
}

}  // namespace intarsia
