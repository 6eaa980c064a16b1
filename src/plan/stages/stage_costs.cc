#include "plan/stages/stage_costs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "plan/costs/segment_times.h"
#include "plan/place/plan_candidates.h"

namespace intarsia {
namespace {

double known_time(int64_t nanoseconds) {
  return nanoseconds < too_long ? static_cast<double>(nanoseconds) : cannot_run;
}

bool has_time_anywhere(const SegmentCosts& costs, size_t segment) {
  return std::ranges::any_of(costs.times[segment], [](int64_t time) { return time < too_long; });
}

/// Guesses the time of a segment whose time is not known anywhere.
double guess_time(const PlanningProblem& problem, const Placement& placement, const SegmentCosts& costs,
                  size_t segment, uint32_t slot) {
  for (uint32_t target = 0; target < problem.targets.size(); ++target) {
    if (problem.targets[target].slot != slot) continue;
    const uint32_t placed = placement[costs.segments[segment][0]].target;
    if (problem.targets[target].backend->info().has_one_pool && target != placed) continue;
    const auto may_be_there = [&](NodeId node) { return may_go(problem, placement, node, target); };
    if (!std::ranges::all_of(costs.segments[segment], may_be_there)) continue;
    return estimate_time(problem.graph, costs.segments[segment]);
  }
  return cannot_run;
}

/// Backend that runs a segment on a slot, and its time.
struct SegmentRunner {
  double time = cannot_run;
  const Target* backend = nullptr;
};

SegmentRunner find_runner(const PlanningProblem& problem, const Placement& placement,
                          const SegmentCosts& costs, size_t segment, uint32_t slot) {
  if (!has_time_anywhere(costs, segment)) return {guess_time(problem, placement, costs, segment, slot)};
  const uint32_t placed = placement[costs.segments[segment][0]].target;
  SegmentRunner fastest;
  for (uint32_t target = 0; target < problem.targets.size(); ++target) {
    if (problem.targets[target].slot != slot) continue;
    const SegmentRunner one{known_time(costs.times[segment][target]), problem.targets[target].backend};
    if (one.backend == problem.targets[placed].backend && one.time < cannot_run) return one;
    if (one.time < fastest.time) fastest = one;
  }
  return fastest;
}

/// Returns the kind with each segment run by its runner.
ExecutorKind run_as_placed(const PlanningProblem& problem, const Placement& placement,
                           const SegmentCosts& costs, uint32_t slot) {
  ExecutorKind kind{{slot}, {}};
  for (size_t s = 0; s < costs.segments.size(); ++s) {
    const SegmentRunner runner = find_runner(problem, placement, costs, s, slot);
    kind.times.push_back(runner.time);
    kind.backends.push_back(runner.backend);
  }
  return kind;
}

/// Returns the kind with all segments on the target; times that are not known are infinite.
ExecutorKind run_on(const PlanningProblem& problem, const SegmentCosts& costs, uint32_t target) {
  ExecutorKind kind{{problem.targets[target].slot}, {}};
  for (const std::vector<int64_t>& times : costs.times) kind.times.push_back(known_time(times[target]));
  kind.backends.assign(costs.times.size(), problem.targets[target].backend);
  return kind;
}

double total_time(const ExecutorKind& kind) {
  return std::accumulate(kind.times.begin(), kind.times.end(), 0.0);
}

bool is_on_host(const DeviceSlot& slot) { return slot.space == host_memory; }

bool have_equal_cores(const DeviceSlot& one, const DeviceSlot& other) {
  return is_on_host(one) == is_on_host(other) && one.kind == other.kind && one.cores() == other.cores() &&
         one.queues == other.queues;
}

/// Checks whether no part of a model takes longer on one than on the other, and no copy.
bool are_alike(const SegmentCosts& costs, const DeviceSlot& one, const DeviceSlot& other) {
  const auto is_same = [](const StageLink& a, const StageLink& b) {
    return a.latency == b.latency && a.per_byte == b.per_byte;
  };
  return have_equal_cores(one, other) &&
         is_same(stage_link(costs, host_memory, one.space), stage_link(costs, host_memory, other.space)) &&
         is_same(stage_link(costs, one.space, host_memory), stage_link(costs, other.space, host_memory));
}

/// Returns the backend's time on the slot, from times by target.
int64_t time_on_slot(const PlanningProblem& problem, const std::vector<int64_t>& times, const Target* backend,
                     uint32_t slot) {
  for (uint32_t target = 0; target < times.size(); ++target)
    if (problem.targets[target].slot == slot && problem.targets[target].backend == backend)
      return times[target];
  return never;
}

/// Returns, for each target, the longest time of its backend on a slot that is like the target's, from times
/// by target.
std::vector<int64_t> level_times(const PlanningProblem& problem, const std::vector<int64_t>& times) {
  std::vector<int64_t> leveled = times;
  for (uint32_t target = 0; target < times.size(); ++target) {
    const PlacementTarget& own = problem.targets[target];
    for (uint32_t slot = 0; slot < problem.slots.size(); ++slot) {
      if (have_equal_cores(problem.slots[own.slot], problem.slots[slot]))
        leveled[target] = std::max(leveled[target], time_on_slot(problem, times, own.backend, slot));
    }
  }
  return leveled;
}

/// Finds the values that one segment makes and others read, and those that come from outside or go there.
std::vector<StageValue> find_stage_values(const Graph& graph, const std::vector<uint32_t>& segment_of) {
  std::map<ValueId, StageValue> values;
  const auto find = [&](ValueId id) -> StageValue& {
    StageValue& value = values[id];
    const Value& about = graph.value(id);
    value.bytes = static_cast<double>(graph.planned_bytes(id).value_or(0));
    if (about.producer != no_node) value.producer = segment_of[index(about.producer)];
    return value;
  };
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId read : values_read(graph.nodes[i])) {
      const Value& value = graph.value(read);
      if (value.constant || (value.producer != no_node && segment_of[index(value.producer)] == segment_of[i]))
        continue;
      StageValue& crossing = find(read);
      if (std::ranges::find(crossing.consumers, segment_of[i]) == crossing.consumers.end())
        crossing.consumers.push_back(segment_of[i]);
    }
  }
  for (ValueId output : graph.outputs)
    if (graph.value(output).producer != no_node) find(output).is_output = true;
  std::vector<StageValue> list;
  for (auto& [id, value] : values) list.push_back(std::move(value));
  return list;
}

/// Finds segments that share a group of nodes which one region must hold.
std::vector<std::vector<uint32_t>> find_together(const Placement& placement,
                                                 const std::vector<uint32_t>& segment_of) {
  std::map<uint32_t, std::set<uint32_t>> by_group;
  for (uint32_t i = 0; i < placement.nodes.size(); ++i)
    if (const uint32_t first = placement.nodes[i].group; first != i)
      by_group[first].insert({segment_of[first], segment_of[i]});
  std::vector<std::vector<uint32_t>> together;
  for (const auto& [group, segments] : by_group)
    if (segments.size() > 1) together.emplace_back(segments.begin(), segments.end());
  return together;
}

/// Raises times on slots of as many cores to the longest of them, backend by backend.
SegmentCosts level_slots(const PlanningProblem& problem, SegmentCosts costs) {
  for (std::vector<int64_t>& times : costs.times) {
    const std::vector<int64_t> leveled = level_times(problem, times);
    if (std::ranges::any_of(leveled, [](int64_t time) { return time < too_long; })) times = leveled;
  }
  return costs;
}

/// Adds the slot to the kind that is like it, or as a new kind.
void add_slot(const PlanningProblem& problem, const SegmentCosts& costs, ExecutorKind made, uint32_t slot,
              ExecutorKinds& kinds) {
  const auto is_same = [&](const ExecutorKind& kind) {
    return are_alike(costs, problem.slots[kind.slots[0]], problem.slots[slot]) && kind.times == made.times &&
           kind.backends == made.backends;
  };
  const auto same = std::ranges::find_if(kinds, is_same);
  if (same == kinds.end())
    kinds.push_back(std::move(made));
  else
    same->slots.push_back(slot);
}

/// Makes the kinds of all slots: each runs as placed, and `improve(target, made)` makes that faster by a
/// target of the slot.
template <typename Improve>
ExecutorKinds make_kinds(const PlanningProblem& problem, const Placement& placement,
                         const SegmentCosts& costs, Improve improve) {
  ExecutorKinds kinds;
  for (uint32_t slot = 0; slot < problem.slots.size(); ++slot) {
    ExecutorKind made = run_as_placed(problem, placement, costs, slot);
    for (uint32_t target = 0; target < problem.targets.size(); ++target)
      if (problem.targets[target].slot == slot) improve(target, made);
    add_slot(problem, costs, std::move(made), slot, kinds);
  }
  return kinds;
}

}  // namespace

StageLink stage_link(const SegmentCosts& costs, uint32_t from, uint32_t to) {
  if (from == to || std::max(from, to) >= costs.links.size()) return {};
  const Link& link = costs.links[from][to];
  if (link.latency >= too_long) return {};
  return {static_cast<double>(link.latency), link.nanoseconds_per_byte};
}

double held_bytes(const Graph& graph, const std::vector<NodeId>& segment) {
  std::set<ValueId> seen;
  double bytes = 0;
  const auto add = [&](ValueId id) {
    if (id == no_value || !seen.insert(id).second) return;
    const Value& value = graph.value(id);
    bytes +=
        static_cast<double>(value.constant ? value.constant->bytes() : graph.planned_bytes(id).value_or(1));
  };
  for (NodeId node : segment) {
    for (ValueId read : values_read(graph.node(node)))
      if (graph.value(read).constant) add(read);
    for (ValueId output : graph.node(node).outputs) add(output);
  }
  return bytes;
}

const ExecutorKind& kind_of_slot(const ExecutorKinds& kinds, uint32_t slot) {
  const auto has_slot = [&](const ExecutorKind& kind) {
    return std::ranges::find(kind.slots, slot) != kind.slots.end();
  };
  return *std::ranges::find_if(kinds, has_slot);
}

ExecutorKinds find_executor_kinds(const PlanningProblem& problem, const Placement& placement,
                                  const SegmentCosts& costs) {
  return make_kinds(problem, placement, costs, [&](uint32_t target, ExecutorKind& made) {
    ExecutorKind single = run_on(problem, costs, target);
    if (total_time(single) < total_time(made)) made = std::move(single);
  });
}

ExecutorKinds find_even_executor_kinds(const PlanningProblem& problem, const Placement& placement,
                                       const SegmentCosts& costs) {
  ExecutorKinds kinds;
  for (const ExecutorKind& even : find_executor_kinds(problem, placement, level_slots(problem, costs))) {
    for (uint32_t slot : even.slots) {
      ExecutorKind own{{slot}, even.times, even.backends};
      for (size_t s = 0; s < own.times.size(); ++s) {
        const int64_t time = time_on_slot(problem, costs.times[s], own.backends[s], slot);
        if (time < too_long) own.times[s] = static_cast<double>(time);
      }
      add_slot(problem, costs, std::move(own), slot, kinds);
    }
  }
  return kinds;
}

ExecutorKinds find_fastest_executor_kinds(const PlanningProblem& problem, const Placement& placement,
                                          const SegmentCosts& costs) {
  return make_kinds(problem, placement, costs, [&](uint32_t target, ExecutorKind& made) {
    for (size_t s = 0; s < made.times.size(); ++s)
      made.times[s] = std::min(made.times[s], known_time(costs.times[s][target]));
  });
}

std::vector<TeamCandidates> find_team_candidates(const PlanningProblem& problem, const ExecutorKinds& kinds) {
  std::vector<TeamCandidates> candidates;
  const auto can_run = [](double time) { return time < cannot_run; };
  for (uint32_t kind = 0; kind < kinds.size(); ++kind) {
    const auto is_family = [&](const ExecutorKind& other) {
      return problem.slots[other.slots[0]].kind == problem.slots[kinds[kind].slots[0]].kind &&
             other.backends == kinds[kind].backends &&
             std::ranges::equal(other.times, kinds[kind].times, {}, can_run, can_run);
    };
    const auto first = std::ranges::find_if(kinds, is_family) - kinds.begin();
    candidates.push_back({static_cast<uint32_t>(kinds[kind].slots.size()), static_cast<uint32_t>(first)});
  }
  return candidates;
}

ExecutorTeams distinct_teams(const ExecutorTeams& teams) {
  ExecutorTeams distinct;
  for (const ExecutorTeam& team : teams)
    if (std::ranges::find(distinct, team) == distinct.end()) distinct.push_back(team);
  return distinct;
}

StageProblem make_stage_problem(const PlanningProblem& problem, const Placement& placement,
                                const SegmentCosts& costs, const ExecutorKinds& kinds,
                                const ExecutorTeams& teams, const std::vector<StageMemory>& memory) {
  StageProblem made;
  for (const ExecutorKind& kind : kinds) {
    const DeviceSlot& slot = problem.slots[kind.slots[0]];
    made.devices.push_back({.name = slot.name,
                            .memory = is_on_host(slot) ? cannot_run : memory[slot.space].most,
                            .in = stage_link(costs, host_memory, slot.space),
                            .out = stage_link(costs, slot.space, host_memory),
                            .copies_while_running = memory[slot.space].has_spare_frame});
  }
  for (const ExecutorTeam& team : distinct_teams(teams))
    made.teams.push_back({team.members, static_cast<uint32_t>(std::ranges::count(teams, team))});
  std::vector<uint32_t> segment_of(problem.graph.nodes.size());
  for (uint32_t s = 0; s < costs.segments.size(); ++s) {
    for (NodeId node : costs.segments[s]) segment_of[index(node)] = s;
    StageNode& node = made.nodes.emplace_back(StageNode{{}, held_bytes(problem.graph, costs.segments[s])});
    for (const ExecutorKind& kind : kinds) {
      const DeviceSlot& slot = problem.slots[kind.slots[0]];
      node.time.push_back(kind.times[s] / (memory[slot.space].has_spare_frame ? slot.queues : 1));
    }
  }
  made.values = find_stage_values(problem.graph, segment_of);
  made.together = find_together(placement, segment_of);
  return made;
}

}  // namespace intarsia
