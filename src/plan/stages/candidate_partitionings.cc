#include "plan/stages/candidate_partitionings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <ranges>

#include "base/core_set.h"
#include "plan/stages/split_stages.h"

namespace intarsia {
namespace {

/// Limit of candidate divisions: each takes up to seconds to solve.
constexpr size_t most_candidates = 64;
/// Relative difference of throughputs below which they are alike.
constexpr double alike = 0.02;

class PartitioningMaker {
 public:
  PartitioningMaker(StageProblem problem, const ExecutorTeams& teams)
      : problem_(std::move(problem)), distinct_(distinct_teams(teams)), unused_(teams) {}

  /// Makes the division; nullopt if some node runs on none of the executors, or memory is too small.
  std::optional<Partitioning> make() {
    if (!verify_stage_problem(problem_)) return std::nullopt;
    const StageSplit split = split_stages(problem_);
    if (split.stages.empty()) return std::nullopt;
    for (const StageSplit::Stage& stage : split.stages) {
      candidate_.stages.push_back({distinct_[stage.team], {}, stage.nodes, stage.load});
      unused_.erase(std::ranges::find(unused_, distinct_[stage.team]));
    }
    candidate_.lower_bound = split.lower_bound;
    return finish();
  }

  /// Divides stages further until there are `count`; returns nullopt if none can be divided any more.
  std::optional<Partitioning> divide(size_t count) {
    while (candidate_.stages.size() < count)
      if (!divide_one()) return std::nullopt;
    return finish();
  }

 private:
  Partitioning finish() {
    candidate_.max_load = std::ranges::max(candidate_.stages, {}, &CandidateStage::load).load;
    for (CandidateStage& stage : candidate_.stages) stage.load_alone = load_alone(stage);
    return candidate_;
  }

  double load_of(const ExecutorTeam& team, const std::vector<uint32_t>& segments) const {
    const auto number = std::ranges::find(distinct_, team) - distinct_.begin();
    return stage_load(problem_, static_cast<uint32_t>(number), segments);
  }

  double load_alone(const CandidateStage& stage) const {
    StageProblem alone = problem_;
    alone.teams = {{{stage.team.members[0]}}};
    return stage_load(alone, 0, stage.segments);
  }

  bool tears_apart(const std::vector<uint32_t>& segments, size_t at) const {
    const auto is_first = [&](uint32_t node) { return node < segments[at]; };
    return std::ranges::any_of(problem_.together, [&](const std::vector<uint32_t>& group) {
      return std::ranges::binary_search(segments, group[0]) && !std::ranges::all_of(group, is_first) &&
             !std::ranges::none_of(group, is_first);
    });
  }

  /// Divides the stage in two, where the second gets the team; returns nullopt if it cannot be divided.
  std::optional<std::pair<CandidateStage, CandidateStage>> halve(const CandidateStage& stage,
                                                                 const ExecutorTeam& team) const {
    std::optional<std::pair<CandidateStage, CandidateStage>> best;
    double least = cannot_run;
    for (size_t at = 1; at < stage.segments.size(); ++at) {
      if (tears_apart(stage.segments, at)) continue;
      const auto middle = stage.segments.begin() + static_cast<std::ptrdiff_t>(at);
      CandidateStage first{stage.team, {}, {stage.segments.begin(), middle}};
      CandidateStage second{team, {}, {middle, stage.segments.end()}};
      first.load = load_of(first.team, first.segments);
      second.load = load_of(second.team, second.segments);
      if (std::max(first.load, second.load) >= least) continue;
      least = std::max(first.load, second.load);
      best.emplace(std::move(first), std::move(second));
    }
    return best;
  }

  bool divide_one() {
    std::vector<size_t> by_load(candidate_.stages.size());
    std::iota(by_load.begin(), by_load.end(), size_t{0});
    std::ranges::sort(by_load, std::greater(), [&](size_t i) { return candidate_.stages[i].load; });
    for (size_t i : by_load) {
      auto halves = halve(candidate_.stages[i], unused_[0]);
      if (!halves) continue;
      unused_.erase(unused_.begin());
      candidate_.stages[i] = std::move(halves->first);
      candidate_.stages.insert(candidate_.stages.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                               std::move(halves->second));
      return true;
    }
    return false;
  }

  const StageProblem problem_;
  const ExecutorTeams distinct_;
  ExecutorTeams unused_;
  Partitioning candidate_;
};

bool share_cores(const DeviceSlot& one, const DeviceSlot& other) {
  if (one.kind != "cpu" || other.kind != "cpu") return one.device == other.device;
  if (!one.core_set || !other.core_set) return true;
  const std::vector<int>& others = other.core_set->numbers();
  return std::ranges::any_of(one.core_set->numbers(),
                             [&](int core) { return std::ranges::find(others, core) != others.end(); });
}

using Slots = std::vector<uint32_t>;

/// Adds to `found` the sets of slots that share no core, start with `chosen`, and can take no further slot.
void add_disjoint_sets(const PlanningProblem& problem, uint32_t next, Slots& chosen,
                       std::vector<Slots>& found) {
  const auto slots = static_cast<uint32_t>(problem.slots.size());
  const auto is_free = [&](uint32_t slot) {
    return std::ranges::none_of(
        chosen, [&](uint32_t other) { return share_cores(problem.slots[slot], problem.slots[other]); });
  };
  const auto excludes = [&](uint32_t later) {
    return share_cores(problem.slots[next], problem.slots[later]);
  };
  if (found.size() >= most_candidates) return;
  if (next == slots) {
    const auto all = std::views::iota(0u, slots);
    if (std::ranges::none_of(all, is_free)) found.push_back(chosen);
    return;
  }
  const bool may_work = is_free(next);
  if (may_work) {
    chosen.push_back(next);
    add_disjoint_sets(problem, next + 1, chosen, found);
    chosen.pop_back();
  }
  if (!may_work || std::ranges::any_of(std::views::iota(next + 1, slots), excludes))
    add_disjoint_sets(problem, next + 1, chosen, found);
}

/// Finds the sets of slots that share no core and can take no further slot.
std::vector<Slots> find_disjoint_slots(const PlanningProblem& problem) {
  std::vector<Slots> sets;
  Slots none;
  add_disjoint_sets(problem, 0, none, sets);
  return sets;
}

/// Returns the kinds with these slots only.
ExecutorKinds keep_slots(const ExecutorKinds& kinds, const Slots& slots) {
  ExecutorKinds kept;
  for (const ExecutorKind& kind : kinds) {
    kept.push_back({{}, kind.times, kind.backends});
    std::ranges::copy_if(kind.slots, std::back_inserter(kept.back().slots),
                         [&](uint32_t slot) { return std::ranges::find(slots, slot) != slots.end(); });
  }
  std::erase_if(kept, [](const ExecutorKind& kind) { return kind.slots.empty(); });
  return kept;
}

/// Gives each stage the next executors of its kinds.
void hand_out(const ExecutorKinds& kinds, Partitioning& candidate) {
  std::vector<size_t> used(kinds.size(), 0);
  for (CandidateStage& stage : candidate.stages)
    for (uint32_t kind : stage.team.members) stage.slots.push_back(kinds[kind].slots[used[kind]++]);
}

/// Returns teams of one executor each.
ExecutorTeams list_singles(const ExecutorKinds& kinds) {
  ExecutorTeams singles;
  for (uint32_t kind = 0; kind < kinds.size(); ++kind)
    singles.insert(singles.end(), kinds[kind].slots.size(), {{kind}});
  return singles;
}

/// Returns the bound for executors that may work at once.
double bound_working(const PlanningProblem& problem, const Placement& placement, const SegmentCosts& costs,
                     const ExecutorKinds& working) {
  const std::vector<StageMemory> unlimited(problem.spaces.size());
  return divided_load(
      make_stage_problem(problem, placement, costs, working, list_singles(working), unlimited));
}

Status verify_count(const PlanningProblem& problem, const SegmentCosts& costs, uint32_t count) {
  const size_t most = std::ranges::max(find_disjoint_slots(problem), {}, &Slots::size).size();
  if (count > most)
    return fail(
        "--stages {}: at most {} executors work at once; name as many as stages with -d, as in -d "
        "cpu:0,cpu:1",
        count, most);
  if (count > costs.segments.size())
    return fail("--stages {}: the model has {} parts that can be apart; want at most as many stages", count,
                costs.segments.size());
  return {};
}

}  // namespace

Result<Partitionings> find_partitionings(const PlanningProblem& problem, const Placement& placement,
                                         const SegmentCosts& costs, const ExecutorKinds& kinds,
                                         const std::vector<StageMemory>& memory,
                                         std::optional<uint32_t> count) {
  if (count) TRY(verify_count(problem, costs, *count));
  Partitionings candidates{{}, cannot_run};
  for (const Slots& slots : find_disjoint_slots(problem)) {
    const ExecutorKinds working = keep_slots(kinds, slots);
    const TeamLists teams = list_teams(find_team_candidates(problem, working), count, most_candidates);
    if (!teams.is_complete)
      candidates.lower_bound =
          std::min(candidates.lower_bound, bound_working(problem, placement, costs, working));
    for (const ExecutorTeams& list : teams.lists) {
      PartitioningMaker maker(make_stage_problem(problem, placement, costs, working, list, memory), list);
      std::optional<Partitioning> candidate = maker.make();
      if (candidate) candidates.lower_bound = std::min(candidates.lower_bound, candidate->lower_bound);
      if (candidate && count) candidate = maker.divide(*count);
      if (!candidate || candidates.list.size() >= most_candidates) continue;
      hand_out(working, *candidate);
      candidates.list.push_back(std::move(*candidate));
    }
  }
  if (candidates.list.empty() && count)
    return fail("--stages {}: the model has fewer parts that can be apart, or the executors cannot run them",
                *count);
  return candidates;
}

double bound_executors(const PlanningProblem& problem, const Placement& placement, const SegmentCosts& costs,
                       const ExecutorKinds& kinds) {
  double least = cannot_run;
  for (const Slots& slots : find_disjoint_slots(problem))
    least = std::min(least, bound_working(problem, placement, costs, keep_slots(kinds, slots)));
  return least;
}

const Partitioning& find_best_partitioning(const std::vector<Partitioning>& candidates) {
  const double least = std::ranges::min(candidates, {}, &Partitioning::max_load).max_load;
  const Partitioning* best = nullptr;
  for (const Partitioning& candidate : candidates) {
    if (candidate.max_load > (1 + alike) * least) continue;
    if (best == nullptr || candidate.stages.size() < best->stages.size()) best = &candidate;
  }
  return *best;
}

std::string describe_partitioning(const PlanningProblem& problem, const Partitioning& candidate) {
  std::vector<std::string> stages;
  for (const CandidateStage& stage : candidate.stages) {
    std::vector<std::string> names;
    for (uint32_t slot : stage.slots) names.push_back(problem.slots[slot].name);
    stages.push_back(fmt::format("{}", fmt::join(names, ", ")));
  }
  if (stages.size() > 1) return fmt::format("{} stages: {}", stages.size(), fmt::join(stages, " | "));
  const size_t replicas = candidate.stages[0].slots.size();
  return replicas == 1 ? fmt::format("the whole on {}", stages[0])
                       : fmt::format("{} replicas of the whole: {}", replicas, stages[0]);
}

}  // namespace intarsia
