#include "plan/stages/time_stages.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "plan/costs/segment_times.h"
#include "plan/stages/place_stages.h"
#include "plan/stages/stage_frames.h"
#include "plan/stages/stage_steps.h"

namespace intarsia {
namespace {

using StageTimes = std::vector<std::optional<int64_t>>;

/// Predicts the time of each stage's nodes on its slot: a node has the part of its segment's time that it has
/// of the segment's work.
StageTimes predict_runs(const Graph& graph, const Plan& plan, const Segments& segments,
                        const ExecutorKinds& kinds, const std::vector<ChosenStage>& stages) {
  std::vector<double> times(stages.size(), 0);
  for (size_t s = 0; s < segments.size(); ++s) {
    const double all = estimate_time(graph, segments[s]);
    for (NodeId node : segments[s]) {
      const uint32_t stage = plan.placement[node].stage;
      const double part = estimate_time(graph, {node}) / all;
      times[stage] += kind_of_slot(kinds, stages[stage].slot).times[s] * part;
    }
  }
  StageTimes predicted;
  for (double time : times)
    predicted.push_back(time < static_cast<double>(too_long) ? std::optional(std::llround(time))
                                                             : std::nullopt);
  return predicted;
}

/// Returns the time of each stage's regions; nullopt where they are not timed.
StageTimes measure_runs_of_stages(const Plan& plan, size_t stages, const PlanTools& tools) {
  StageTimes measured(stages);
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

/// Returns the time of a stage's copies.
double time_copies(const Graph& graph, const StepList& steps, const SegmentCosts& costs) {
  double time = 0;
  for (const Step& step : steps) {
    if (step.kind != Step::Kind::copy) continue;
    const auto bytes = static_cast<double>(graph.planned_bytes(step.from.value).value_or(0));
    time += stage_link(costs, step.from.space, step.to.space).time({1, bytes});
  }
  return time;
}

/// Returns the time between two frames of a run with its copies: of several frames, one is copied while the
/// others run.
std::optional<int64_t> with_copies(std::optional<int64_t> run, double copies, uint32_t frames) {
  if (!run) return run;
  const auto time = static_cast<double>(*run);
  return std::llround(frames > 1 ? std::max(time / (frames - 1), copies) : time + copies);
}

void add_times(const PlanningProblem& problem, const SegmentCosts& costs, const ExecutorKinds& kinds,
               const PlanTools& tools, StagedPlan& staged) {
  const Plan& plan = staged.plan;
  const StageTimes predicted = predict_runs(problem.graph, plan, costs.segments, kinds, staged.stages);
  const StageTimes measured = measure_runs_of_stages(plan, staged.stages.size(), tools);
  const std::vector<StageSteps> steps = list_stages(problem.graph, plan.partition, problem.space_of_target);
  for (size_t i = 0; i < staged.stages.size(); ++i) {
    ChosenStage& stage = staged.stages[i];
    const double copies = time_copies(problem.graph, steps[i].steps, costs);
    stage.predicted = with_copies(predicted[i], copies, stage.frames);
    stage.measured = with_copies(measured[i], copies, stage.frames);
    stage.measured_run = measured[i];
  }
}

/// Returns, for each node, the backend that runs its segment on the slot of its stage.
std::vector<const Target*> find_preferred(const Placement& placement, const Segments& segments,
                                          const ExecutorKinds& kinds, const std::vector<uint32_t>& slots) {
  std::vector<const Target*> preferred(placement.nodes.size(), nullptr);
  for (size_t s = 0; s < segments.size(); ++s) {
    for (NodeId node : segments[s]) {
      const uint32_t slot = slots[placement[node].stage];
      preferred[index(node)] = kind_of_slot(kinds, slot).backends[s];
    }
  }
  return preferred;
}

}  // namespace

int64_t StageReport::interval(const std::vector<ChosenStage>& stages,
                              std::optional<int64_t> ChosenStage::* time) {
  std::map<uint32_t, double> by_slot;
  for (const ChosenStage& stage : stages) {
    if (!(stage.*time)) return never;
    by_slot[stage.slot] += static_cast<double>(*(stage.*time)) / stage.rate;
  }
  double longest = 0;
  for (const auto& [slot, sum] : by_slot) longest = std::max(longest, sum);
  return std::llround(longest);
}

Result<StagedPlan> place_and_time(const PlanningProblem& problem, Placement placement,
                                  const SegmentCosts& costs, const ExecutorKinds& kinds,
                                  std::vector<ChosenStage> stages, const std::vector<StageMemory>& memory,
                                  const PlanTools& tools) {
  std::vector<uint32_t> slots;
  for (const ChosenStage& stage : stages) slots.push_back(stage.slot);
  place_stages(problem, slots, find_preferred(placement, costs.segments, kinds, slots), placement);
  StagedPlan staged{TRY(tools.replan(std::move(placement))), std::move(stages), {}};
  set_frames(problem, staged.plan, memory, staged.stages);
  add_times(problem, costs, kinds, tools, staged);
  return staged;
}

}  // namespace intarsia
