#include "compile/device_choice.h"

#include <algorithm>

#include "plan/place/plan_candidates.h"

namespace intarsia {
namespace {

double milliseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

/// Returns the shortest time of running everything on one target of the slot; nullopt if none was measured.
std::optional<int64_t> find_time(const CompiledFunction& function, uint32_t slot) {
  std::optional<int64_t> least;
  if (!function.chosen.report) return least;
  const PlanningProblem& problem = *function.problem;
  for (uint32_t t = 0; t < problem.targets.size(); ++t) {
    const auto& times = function.chosen.report->single_backend;
    const auto time = times.find(runner_name(problem, t));
    if (problem.targets[t].slot == slot && time != times.end())
      least = std::min(least.value_or(time->second), time->second);
  }
  return least;
}

/// Checks whether the slot runs the region or a replica of its stage.
bool runs(const CompiledFunction& function, uint32_t slot, const Region& region) {
  const PlanningProblem& problem = *function.problem;
  const std::vector<ChosenStage>& stages = function.chosen.stages;
  const uint32_t home = problem.targets[region.target].slot;
  if (stages.empty() || stages[region.stage].slot != home) return home == slot;
  const std::vector<std::string>& executors = stages[region.stage].executors;
  return std::ranges::find(executors, problem.slots[slot].device) != executors.end();
}

std::string why_not_used(const CompiledFunction& function, uint32_t slot) {
  const ChosenPlan& chosen = function.chosen;
  const std::vector<PlacementTarget>& targets = function.problem->targets;
  const auto on_slot = std::ranges::find(targets, slot, &PlacementTarget::slot);
  if (on_slot != targets.end() && on_slot->takes_only_pinned)
    return "a simulation without declared times gets only what is pinned to it";
  if (function.stage_report) return "frames are predicted to take longer with it";
  if (!chosen.report) return "the plan as placed does not need it, and others were not compared";
  if (!chosen.report->disabled_reason.empty())
    return fmt::format("plans were not compared: {}", chosen.report->disabled_reason);
  const std::optional<int64_t> time = find_time(function, slot);
  if (!time || !chosen.measured) return "no plan with everything there was compared";
  return fmt::format("everything there takes {:.3g} ms, the plan {:.3g} ms", milliseconds(*time),
                     milliseconds(*chosen.measured));
}

}  // namespace

std::vector<DeviceChoice> explain_devices(const CompiledFunction& function, const CompileRequest& request) {
  const PlanningProblem& problem = *function.problem;
  std::vector<DeviceChoice> choices;
  for (uint32_t slot = 0; slot < problem.slots.size(); ++slot) {
    DeviceChoice choice{problem.slots[slot].device, problem.slots[slot].name};
    for (const Region& region : function.chosen.plan.partition.regions)
      choice.regions += runs(function, slot, region);
    if (choice.regions == 0) choice.why_not = why_not_used(function, slot);
    choices.push_back(std::move(choice));
  }
  for (const CandidateDevice& device : request.automatic) {
    if (std::ranges::find(choices, device.name, &DeviceChoice::device) != choices.end()) continue;
    choices.push_back({.device = device.name,
                       .why_not = device.why_not.empty() ? "no backend of these drives it" : device.why_not});
  }
  return choices;
}

}  // namespace intarsia
