#include "plan/choose_stages.h"

#include <algorithm>
#include <numeric>

#include "plan/cut_graph.h"
#include "plan/describe_plan.h"
#include "plan/find_segments.h"
#include "plan/fit_memory.h"
#include "plan/stage_planner.h"
#include "plan/time_stages.h"

namespace intarsia {
namespace {

/// What the planner knows of the model's parts.
struct PartTimes {
  SegmentCosts costs;
  std::string guessed_reason;  // why they are estimates; empty: they are measured
};

/// Segments whose times nobody knows.
SegmentCosts unknown_costs(const PlanningProblem& problem, const Plan& plan) {
  std::vector<std::vector<bool>> may_run;
  for (uint32_t target : plan.placement.target) {
    may_run.emplace_back(problem.targets.size(), false);
    may_run.back()[target] = true;
  }
  SegmentCosts costs;
  costs.segments = list_segments(find_segments(problem.graph, may_run));
  costs.times.assign(costs.segments.size(), std::vector<int64_t>(problem.targets.size(), never));
  return costs;
}

PartTimes find_part_times(const PlanningProblem& problem, const ChosenPlan& chosen, const PlanTools& tools) {
  if (chosen.costs) return {*chosen.costs, ""};
  if (tools.timer == nullptr) return {unknown_costs(problem, chosen.plan), tools.disabled_reason};
  Result<SegmentCosts> costs =
      price_segments(problem, {&chosen.plan}, chosen.plan.placement, *tools.timer, tools.time_link);
  if (costs) return {std::move(*costs), ""};
  return {unknown_costs(problem, chosen.plan), costs.error().message};
}

/// Slots of stages that the user cuts.
Result<std::vector<uint32_t>> slots_in_order(const PlanningProblem& problem, uint32_t stages) {
  std::vector<uint32_t> slots(stages, 0);
  if (problem.slots.size() == 1) return slots;
  if (problem.slots.size() == stages) {
    std::iota(slots.begin(), slots.end(), 0u);
    return slots;
  }
  std::string names;
  for (const DeviceSlot& slot : problem.slots) names += (names.empty() ? "" : ", ") + slot.name;
  return fail(
      "--cut: {} stages for {} slots ({}): name one device a stage with -d, in the order of the stages, "
      "or one for all",
      stages, problem.slots.size(), names);
}

Result<StagedPlan> cut_by_hand(const PlanningProblem& problem, const ChosenPlan& chosen,
                               const StageDemand& demand, const PlanTools& tools) {
  Placement placement = chosen.plan.placement;
  placement.stage = TRY(cut_graph(problem.graph, demand.cuts));
  std::vector<ChosenStage> stages;
  for (uint32_t slot : TRY(slots_in_order(problem, count_stages(placement))))
    stages.push_back({slot, {problem.slots[slot].device}});
  const PartTimes parts = find_part_times(problem, chosen, tools);
  const ExecutorKinds kinds = find_executor_kinds(problem, chosen.plan.placement, parts.costs);
  StagedPlan staged = TRY(
      place_and_time(problem, std::move(placement), parts.costs.segments, kinds, std::move(stages), tools));
  staged.report.chosen = "cut by hand";
  staged.report.guessed_reason = parts.guessed_reason;
  return staged;
}

Result<StagedPlan> cut_by_planner(const PlanningProblem& problem, const ChosenPlan& chosen,
                                  const StageDemand& demand, const PlanTools& tools) {
  const PartTimes parts = find_part_times(problem, chosen, tools);
  StagePlanner planner(problem, chosen.plan.placement, parts.costs, tools);
  StagedPlan staged = TRY(planner.plan(demand.count));
  staged.report.guessed_reason = parts.guessed_reason;
  return staged;
}

/// As of any plan that ships.
std::vector<AlternativePlan> find_undivided_alternatives(const PlanningProblem& problem,
                                                         const ChosenPlan& chosen, const Plan& staged,
                                                         const PlanTools& tools) {
  Plan whole = staged;
  whole.placement.stage.clear();
  MemoryFitter fitter{problem, tools.memory, tools.replan};
  const auto replan = [&](Placement placement) -> Result<Plan> {
    Plan plan = TRY(tools.replan(std::move(placement)));
    if (!TRY(fitter.fits(plan))) return fail("it needs more memory than it may");
    return plan;
  };
  std::map<std::string, int64_t> known;
  for (const AlternativePlan& other : chosen.alternatives)
    if (other.measured) known[identify_plan(problem, other.plan.partition)] = *other.measured;
  return find_alternatives(problem, whole, {tools.also, tools.only_also}, replan, known);
}

}  // namespace

Result<StagedPlan> choose_stages(const PlanningProblem& problem, const ChosenPlan& chosen,
                                 const StageDemand& demand, const PlanTools& tools) {
  if (problem.graph.nodes.empty())
    return fail("--objective throughput: the model has no operator left to divide; leave the option out");
  StagedPlan staged = TRY(demand.cuts.empty() ? cut_by_planner(problem, chosen, demand, tools)
                                              : cut_by_hand(problem, chosen, demand, tools));
  staged.alternatives = find_undivided_alternatives(problem, chosen, staged.plan, tools);
  return staged;
}

}  // namespace intarsia
