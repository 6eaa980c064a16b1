#include "plan/time_stages.h"

#include <algorithm>
#include <cmath>

#include "plan/place_stages.h"

namespace intarsia {
namespace {

/// By stage, each on its slot: a node's part of its segment's time is that of its work.
std::vector<std::optional<int64_t>> predict_stages(const Graph& graph, const Plan& plan,
                                                   const Segments& segments, const ExecutorKinds& kinds,
                                                   const std::vector<ChosenStage>& stages) {
  std::vector<double> times(stages.size(), 0);
  for (size_t s = 0; s < segments.size(); ++s) {
    const double all = estimate_time(graph, segments[s]);
    for (NodeId node : segments[s]) {
      const uint32_t stage = plan.placement.stage[index(node)];
      const double part = estimate_time(graph, {node}) / all;
      times[stage] += kind_of_slot(kinds, stages[stage].slot).times[s] * part;
    }
  }
  std::vector<std::optional<int64_t>> predicted;
  for (double time : times)
    predicted.push_back(time < static_cast<double>(too_long) ? std::optional(std::llround(time))
                                                             : std::nullopt);
  return predicted;
}

/// By stage; nothing where regions are not timed.
std::vector<std::optional<int64_t>> measure_stages(const Plan& plan, size_t stages, const PlanTools& tools) {
  std::vector<std::optional<int64_t>> measured(stages);
  if (tools.timer == nullptr) return measured;
  const auto times = tools.timer->time_regions({&plan});
  if (!times) return measured;
  std::vector<int64_t> sums(stages, 0);
  for (size_t r = 0; r < plan.partition.regions.size(); ++r) {
    int64_t& sum = sums[plan.partition.regions[r].stage];
    sum = (*times)[0][r] >= too_long || sum == never ? never : sum + (*times)[0][r];
  }
  for (size_t stage = 0; stage < stages; ++stage)
    if (sums[stage] != never) measured[stage] = sums[stage];
  return measured;
}

/// By node: what runs its segment on the slot of its stage.
std::vector<const Target*> find_preferred(const Placement& placement, const Segments& segments,
                                          const ExecutorKinds& kinds, const std::vector<uint32_t>& slots) {
  std::vector<const Target*> preferred(placement.target.size(), nullptr);
  for (size_t s = 0; s < segments.size(); ++s) {
    for (NodeId node : segments[s]) {
      const uint32_t slot = slots[placement.stage[index(node)]];
      preferred[index(node)] = kind_of_slot(kinds, slot).backends[s];
    }
  }
  return preferred;
}

}  // namespace

int64_t StageReport::interval(const std::vector<ChosenStage>& stages,
                              std::optional<int64_t> ChosenStage::* time) {
  int64_t longest = 0;
  for (const ChosenStage& stage : stages) {
    if (!(stage.*time)) return never;
    longest = std::max(longest, *(stage.*time) / static_cast<int64_t>(stage.executors.size()));
  }
  return longest;
}

Result<StagedPlan> place_and_time(const PlanningProblem& problem, Placement placement,
                                  const Segments& segments, const ExecutorKinds& kinds,
                                  std::vector<ChosenStage> stages, const PlanTools& tools) {
  std::vector<uint32_t> slots;
  for (const ChosenStage& stage : stages) slots.push_back(stage.slot);
  place_stages(problem, slots, find_preferred(placement, segments, kinds, slots), placement);
  StagedPlan staged{TRY(tools.replan(std::move(placement))), std::move(stages), {}};
  const auto predicted = predict_stages(problem.graph, staged.plan, segments, kinds, staged.stages);
  const auto measured = measure_stages(staged.plan, staged.stages.size(), tools);
  for (size_t i = 0; i < staged.stages.size(); ++i) {
    staged.stages[i].predicted = predicted[i];
    staged.stages[i].measured = measured[i];
  }
  return staged;
}

}  // namespace intarsia
