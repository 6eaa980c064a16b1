#include "plan/stages/stage_planner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>

#include "plan/stages/time_stages.h"

namespace intarsia {
namespace {

/// Lists policies of what runs on which slot: everything as fast as it can be; and, where slots then differ
/// that need not, so that slots can take each other's frames.
std::vector<ExecutorKinds> list_policies(const PlanningProblem& problem, const Placement& placement,
                                         const SegmentCosts& costs) {
  std::vector<ExecutorKinds> policies{find_executor_kinds(problem, placement, costs)};
  ExecutorKinds even = find_even_executor_kinds(problem, placement, costs);
  const auto backends_of = [](const ExecutorKinds& kinds, uint32_t slot) {
    return kind_of_slot(kinds, slot).backends;
  };
  const auto is_other = [&](uint32_t slot) {
    return backends_of(even, slot) != backends_of(policies[0], slot);
  };
  if (std::ranges::any_of(std::views::iota(0u, static_cast<uint32_t>(problem.slots.size())), is_other))
    policies.push_back(std::move(even));
  return policies;
}

/// Returns a bound of nanoseconds between two frames; infinity where the policies' own bounds hold, as
/// everything is as fast there as it can be.
double find_least(const PlanningProblem& problem, const Placement& placement, const SegmentCosts& costs,
                  const ExecutorKinds& used) {
  const ExecutorKinds fastest = find_fastest_executor_kinds(problem, placement, costs);
  const auto is_fastest = [&](uint32_t slot) {
    return kind_of_slot(used, slot).times == kind_of_slot(fastest, slot).times;
  };
  if (std::ranges::all_of(std::views::iota(0u, static_cast<uint32_t>(problem.slots.size())), is_fastest))
    return cannot_run;
  return bound_executors(problem, placement, costs, fastest);
}

/// Finds the best division into one stage, if there is one: stages are measured against it.
const Partitioning* find_best_whole(const std::vector<Partitioning>& candidates) {
  const Partitioning* best = nullptr;
  for (const Partitioning& candidate : candidates) {
    if (candidate.stages.size() > 1) continue;
    if (best == nullptr || candidate.max_load < best->max_load) best = &candidate;
  }
  return best;
}

/// Sets the predictions of stages by the corrected times.
void predict(const Partitioning& candidate, StagedPlan& staged) {
  for (size_t stage = 0; stage < staged.stages.size(); ++stage)
    staged.stages[stage].predicted = std::llround(candidate.stages[stage].load_alone);
}

int64_t predicted_interval(const StagedPlan& plan) {
  return StageReport::interval(plan.stages, &ChosenStage::predicted);
}

int64_t measured_interval(const StagedPlan& plan) {
  return StageReport::interval(plan.stages, &ChosenStage::measured);
}

/// Returns the interval as measured, or else as predicted.
int64_t interval_of(const StagedPlan& plan) {
  const int64_t measured = measured_interval(plan);
  return measured == never ? predicted_interval(plan) : measured;
}

/// Lists choices of frames: each memory that has a limit has a spare frame of a stage, or none and perhaps a
/// larger stage.
std::vector<std::vector<StageMemory>> list_frame_choices(const PlanningProblem& problem) {
  constexpr size_t most_choices = 4;  // choices to plan and compile
  std::vector<std::vector<StageMemory>> choices(1, std::vector<StageMemory>(problem.spaces.size()));
  for (uint32_t space = 0; space < problem.spaces.size(); ++space) {
    if (space == host_memory || problem.memory_limit(space) == no_limit) continue;
    for (size_t i = choices.size(); i-- > 0;) {
      std::vector<StageMemory> one = choices[i];
      one[space].has_spare_frame = false;
      if (choices.size() < most_choices)
        choices.push_back(std::move(one));
      else
        choices[i] = std::move(one);
    }
  }
  return choices;
}

bool are_same(const StagedPlan& one, const StagedPlan& other) {
  return one.plan.placement.stages() == other.plan.placement.stages() &&
         std::ranges::equal(one.stages, other.stages, {}, &ChosenStage::executors, &ChosenStage::executors);
}

}  // namespace

StagePlanner::StagePlanner(const PlanningProblem& problem, const Placement& placed, const SegmentCosts& costs,
                           const PlanTools& tools)
    : problem_(problem),
      placed_(placed),
      costs_(costs),
      tools_(tools),
      as_timed_(list_policies(problem, placed, costs)),
      corrected_(as_timed_),
      least_(find_least(problem, placed, costs, as_timed_[0])),
      memory_(problem.spaces.size()) {}

Result<StagedPlan> StagePlanner::plan(std::optional<uint32_t> count) {
  StagedPlan staged = TRY(plan_once(count));
  if (!TRY(hold_less(staged))) return staged;
  std::optional<StagedPlan> best;
  for (const std::vector<StageMemory>& memory : list_frame_choices(problem_)) {
    memory_ = memory;
    std::optional<StagedPlan> held = TRY(plan_within_limits(count));
    if (held && (!best || interval_of(*held) < interval_of(*best))) best = std::move(held);
  }
  if (!best) return staged;
  best->report.lower_bound = std::min(staged.report.lower_bound, best->report.lower_bound);
  return std::move(*best);
}

/// Plans with the frames that `memory_` allows. Returns nullopt if no plan keeps all limits.
Result<std::optional<StagedPlan>> StagePlanner::plan_within_limits(std::optional<uint32_t> count) {
  constexpr int most_rounds = 6;
  for (int round = 0; round < most_rounds; ++round) {
    Result<StagedPlan> staged = plan_once(count);
    if (!staged) break;
    if (!TRY(hold_less(*staged))) return std::optional(std::move(*staged));
  }
  return std::nullopt;
}

/// Lets stages hold less of memories that the plan exceeds, in proportion. What a plan needs of a memory is
/// known once it is made: values share buffers, kernels have workspaces. Returns false if the plan keeps all
/// limits.
Result<bool> StagePlanner::hold_less(const StagedPlan& staged) {
  if (!tools_.memory.measure_stages) return false;
  const Plan& plan = staged.plan;
  const std::vector<MemoryUse> uses = TRY(tools_.memory.measure_stages(plan, staged.stages));
  bool is_too_much = false;
  for (uint32_t space = 0; space < memory_.size(); ++space) {
    const uint64_t limit = problem_.memory_limit(space), used = uses[space].total();
    if (used <= limit) continue;
    is_too_much = true;
    std::vector<NodeId> there;
    for (uint32_t i = 0; i < plan.placement.nodes.size(); ++i)
      if (problem_.space_of_target[plan.placement.nodes[i].target] == space) there.push_back(NodeId{i});
    memory_[space].most =
        held_bytes(problem_.graph, there) * static_cast<double>(limit) / static_cast<double>(used);
  }
  return is_too_much;
}

Result<StagedPlan> StagePlanner::plan_once(std::optional<uint32_t> count) {
  corrected_ = as_timed_;
  const std::vector<Partitioning> candidates = TRY(find_candidates(count)).list;
  if (candidates.empty())
    return fail("--objective throughput: no executor can run the whole model or a part");
  StagedPlan staged = TRY(pursue(find_best_partitioning(candidates), count));
  if (const Partitioning* whole = find_best_whole(candidates); whole != nullptr && staged.stages.size() > 1) {
    StagedPlan other = TRY(pursue(*whole, count));
    if (measured_interval(other) <= measured_interval(staged) && measured_interval(other) != never)
      staged = std::move(other);
  }
  for (const Partitioning& candidate : candidates)
    staged.report.compared.push_back(
        {describe_partitioning(problem_, candidate), std::llround(candidate.max_load)});
  return staged;
}

Result<Partitionings> StagePlanner::find_candidates(std::optional<uint32_t> count) const {
  const auto has_replicas = [](const CandidateStage& stage) { return stage.slots.size() > 1; };
  Partitionings candidates{{}, least_};
  for (size_t policy = 0; policy < corrected_.size(); ++policy) {
    Partitionings some =
        TRY(find_partitionings(problem_, placed_, costs_, corrected_[policy], memory_, count));
    candidates.lower_bound = std::min(candidates.lower_bound, some.lower_bound);
    for (Partitioning& candidate : some.list) {
      if (policy > 0 && std::ranges::none_of(candidate.stages, has_replicas)) continue;
      candidate.policy = policy;
      candidates.list.push_back(std::move(candidate));
    }
  }
  return candidates;
}

Result<StagedPlan> StagePlanner::realize(const Partitioning& candidate) const {
  Placement placement = placed_;
  placement.is_staged = true;
  std::vector<ChosenStage> stages;
  for (const CandidateStage& from : candidate.stages) {
    for (uint32_t segment : from.segments)
      for (NodeId node : costs_.segments[segment])
        placement[node].stage = static_cast<uint32_t>(stages.size());
    ChosenStage& stage = stages.emplace_back(ChosenStage{from.slots[0], {}});
    for (uint32_t slot : from.slots) stage.executors.push_back(problem_.slots[slot].device);
    if (from.load > 0) stage.rate = from.load_alone / from.load;
  }
  return place_and_time(problem_, std::move(placement), costs_, as_timed_[candidate.policy],
                        std::move(stages), memory_, tools_);
}

/// Returns the plan of the division, or of a better one.
Result<StagedPlan> StagePlanner::pursue(Partitioning candidate, std::optional<uint32_t> count) {
  corrected_ = as_timed_;
  StagedPlan staged = TRY(realize(candidate));
  TRY(nudge(count, candidate, staged));
  staged.report.chosen = describe_partitioning(problem_, candidate);
  corrected_ = as_timed_;
  if (std::ranges::all_of(staged.stages, &ChosenStage::is_timed)) correct(candidate, staged);
  const double bound = TRY(find_candidates(count)).lower_bound;
  const int64_t known = std::min(measured_interval(staged), predicted_interval(staged));
  staged.report.lower_bound = std::min(static_cast<int64_t>(std::llround(bound)), known);
  return staged;
}

/// Returns the time of the stage's nodes by the times as they were measured first.
double StagePlanner::time_of(const CandidateStage& stage, size_t policy) const {
  const ExecutorKind& kind = kind_of_slot(as_timed_[policy], stage.slots[0]);
  double sum = 0;
  for (uint32_t segment : stage.segments) sum += kind.times[segment];
  return sum;
}

/// Corrects times of segments by what their stages took on devices of that kind; those of other segments
/// there change as those of all its stages did.
void StagePlanner::correct(const Partitioning& candidate, const StagedPlan& staged) {
  corrected_ = as_timed_;
  std::map<std::string, double> predicted, measured;  // indexed by kind of device
  std::map<std::string, std::map<uint32_t, double>> factors;
  for (size_t i = 0; i < staged.stages.size(); ++i) {
    const CandidateStage& stage = candidate.stages[i];
    const std::string& device = problem_.slots[stage.slots[0]].kind;
    const double before = std::max(time_of(stage, candidate.policy), 1.0);
    const auto now = static_cast<double>(*staged.stages[i].measured_run);
    predicted[device] += before;
    measured[device] += now;
    for (uint32_t segment : stage.segments) factors[device][segment] = now / before;
  }
  for (ExecutorKinds& kinds : corrected_) {
    for (ExecutorKind& kind : kinds) {
      const std::string& device = problem_.slots[kind.slots[0]].kind;
      if (!predicted.contains(device)) continue;
      for (uint32_t segment = 0; segment < kind.times.size(); ++segment) {
        const auto known = factors[device].find(segment);
        kind.times[segment] *=
            known != factors[device].end() ? known->second : measured[device] / predicted[device];
      }
    }
  }
}

/// Replaces the division and its plan by better ones, if there are any.
Status StagePlanner::nudge(std::optional<uint32_t> count, Partitioning& best_candidate, StagedPlan& best) {
  constexpr int rounds = 2;
  constexpr double worthwhile = 0.01;
  Partitioning candidate = best_candidate;
  StagedPlan latest = best;
  for (int round = 0; round < rounds && latest.stages.size() > 1; ++round) {
    if (!std::ranges::all_of(latest.stages, &ChosenStage::is_timed)) return {};
    correct(candidate, latest);
    const Result<Partitionings> candidates = find_candidates(count);
    if (!candidates || candidates->list.empty()) return {};
    candidate = find_best_partitioning(candidates->list);
    StagedPlan moved = TRY(realize(candidate));
    if (are_same(moved, latest)) return {};
    predict(candidate, moved);
    const double now = static_cast<double>(measured_interval(moved));
    latest = moved;
    if (now >= (1 - worthwhile) * static_cast<double>(measured_interval(best))) continue;
    moved.report.nudged = round + 1;
    best_candidate = candidate;
    best = std::move(moved);
  }
  return {};
}

}  // namespace intarsia
