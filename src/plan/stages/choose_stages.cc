#include "plan/stages/choose_stages.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/choose/fit_memory.h"
#include "plan/costs/find_segments.h"
#include "plan/costs/segment_times.h"
#include "plan/partition/describe_plan.h"
#include "plan/stages/cut_graph.h"
#include "plan/stages/stage_frames.h"
#include "plan/stages/stage_planner.h"
#include "plan/stages/time_stages.h"

namespace intarsia {
namespace {

/// Times of the model's parts, as far as the planner knows them.
struct PartTimes {
  SegmentCosts costs;
  std::string guessed_reason;  // why they are estimates; empty if they are measured
};

/// Returns the segments with unknown times.
SegmentCosts unknown_costs(const PlanningProblem& problem, const Plan& plan) {
  std::vector<std::vector<bool>> may_run;
  for (const PlacedNode& node : plan.placement.nodes) {
    may_run.emplace_back(problem.targets.size(), false);
    may_run.back()[node.target] = true;
  }
  SegmentCosts costs;
  costs.segments = list_segments(find_segments(problem, may_run));
  costs.times.assign(costs.segments.size(), std::vector<int64_t>(problem.targets.size(), never));
  return costs;
}

PartTimes find_segment_times(const PlanningProblem& problem, const ChosenPlan& chosen,
                             const PlanTools& tools) {
  if (chosen.costs) return {*chosen.costs, ""};
  if (tools.timer == nullptr) return {unknown_costs(problem, chosen.plan), tools.disabled_reason};
  Result<SegmentCosts> costs =
      price_segments(problem, {&chosen.plan}, chosen.plan.placement, *tools.timer, tools.time_link);
  if (costs) return {std::move(*costs), ""};
  return {unknown_costs(problem, chosen.plan), costs.error().message};
}

/// Adds the links between the host's memory and all others; links that cannot be measured stay unknown.
void add_links(const PlanningProblem& problem, const TimeLink& time_link, SegmentCosts& costs) {
  const auto host = std::ranges::find(problem.slots, host_memory, &DeviceSlot::space);
  costs.links.resize(problem.spaces.size());
  for (std::vector<Link>& links : costs.links) links.resize(problem.spaces.size());
  const auto add = [&](const DeviceSlot& from, const DeviceSlot& to) {
    Link& link = costs.links[from.space][to.space];
    if (link.latency < too_long) return;
    if (const auto cost = time_link(from, to); cost)
      link = {std::llround(cost->latency_ns), cost->ns_per_byte};
  };
  for (const DeviceSlot& slot : problem.slots) {
    if (slot.space == host_memory) continue;
    add(*host, slot);
    add(slot, *host);
  }
}

PartTimes find_part_times(const PlanningProblem& problem, const ChosenPlan& chosen, const PlanTools& tools) {
  PartTimes times = find_segment_times(problem, chosen, tools);
  if (tools.timer != nullptr) add_links(problem, tools.time_link, times.costs);
  return times;
}

/// Returns the slots of stages that the user cuts.
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
  placement.divide(TRY(cut_graph(problem.graph, demand.cuts)));
  std::vector<ChosenStage> stages;
  for (uint32_t slot : TRY(slots_in_order(problem, count_stages(placement))))
    stages.push_back({slot, {problem.slots[slot].device}});
  const PartTimes parts = find_part_times(problem, chosen, tools);
  const ExecutorKinds kinds = find_executor_kinds(problem, chosen.plan.placement, parts.costs);
  const std::vector<StageMemory> unlimited(problem.spaces.size());
  StagedPlan staged = TRY(place_and_time(problem, placement, parts.costs, kinds, stages, unlimited, tools));
  const std::vector<StageMemory> memory =
      TRY(find_frame_memory(problem, tools.memory, staged.plan, staged.stages));
  if (!std::ranges::all_of(memory, &StageMemory::has_spare_frame))
    staged = TRY(place_and_time(problem, placement, parts.costs, kinds, stages, memory, tools));
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

/// Finds alternatives to the undivided plan, as for any plan that ships.
std::vector<AlternativePlan> find_undivided_alternatives(const PlanningProblem& problem,
                                                         const ChosenPlan& chosen, const Plan& staged,
                                                         const PlanTools& tools) {
  Plan whole = staged;
  whole.placement.undivide();
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
