#include "plan/stage_costs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "plan/plan_candidates.h"

namespace intarsia {
namespace {

double known_time(int64_t nanoseconds) {
  return nanoseconds < too_long ? static_cast<double>(nanoseconds) : cannot_run;
}

bool has_time_anywhere(const SegmentCosts& costs, size_t segment) {
  return std::ranges::any_of(costs.times[segment], [](int64_t time) { return time < too_long; });
}

/// Of a segment whose time nobody knows.
double guess_time(const PlanningProblem& problem, const Placement& placement, const SegmentCosts& costs,
                  size_t segment, uint32_t slot) {
  for (uint32_t target = 0; target < problem.targets.size(); ++target) {
    if (problem.targets[target].slot != slot) continue;
    const uint32_t placed = placement.target[index(costs.segments[segment][0])];
    if (problem.targets[target].backend->info().has_one_pool && target != placed) continue;
    const auto may_be_there = [&](NodeId node) { return may_go(problem, placement, node, target); };
    if (!std::ranges::all_of(costs.segments[segment], may_be_there)) continue;
    return estimate_time(problem.graph, costs.segments[segment]);
  }
  return cannot_run;
}

/// What runs a segment on a slot.
struct SegmentRunner {
  double time = cannot_run;
  const Target* backend = nullptr;
};

SegmentRunner find_runner(const PlanningProblem& problem, const Placement& placement,
                          const SegmentCosts& costs, size_t segment, uint32_t slot) {
  if (!has_time_anywhere(costs, segment)) return {guess_time(problem, placement, costs, segment, slot)};
  const uint32_t placed = placement.target[index(costs.segments[segment][0])];
  SegmentRunner fastest;
  for (uint32_t target = 0; target < problem.targets.size(); ++target) {
    if (problem.targets[target].slot != slot) continue;
    const SegmentRunner one{known_time(costs.times[segment][target]), problem.targets[target].backend};
    if (one.backend == problem.targets[placed].backend && one.time < cannot_run) return one;
    if (one.time < fastest.time) fastest = one;
  }
  return fastest;
}

/// Each segment by its runner.
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

/// All on the target; infinite times where they are not known.
ExecutorKind run_on(const PlanningProblem& problem, const SegmentCosts& costs, uint32_t target) {
  ExecutorKind kind{{problem.targets[target].slot}, {}};
  for (const std::vector<int64_t>& times : costs.times) kind.times.push_back(known_time(times[target]));
  kind.backends.assign(costs.times.size(), problem.targets[target].backend);
  return kind;
}

double total_time(const ExecutorKind& kind) {
  return std::accumulate(kind.times.begin(), kind.times.end(), 0.0);
}

/// Nothing of a model need run slower on one than on the other.
bool are_alike(const DeviceSlot& one, const DeviceSlot& other) {
  return one.space == other.space && one.kind == other.kind && one.cores == other.cores;
}

/// What the backend takes on the slot, of times by target.
int64_t time_on_slot(const PlanningProblem& problem, const std::vector<int64_t>& times, const Target* backend,
                     uint32_t slot) {
  for (uint32_t target = 0; target < times.size(); ++target)
    if (problem.targets[target].slot == slot && problem.targets[target].backend == backend)
      return times[target];
  return never;
}

/// By target, from such: the longest that its backend takes on a slot that is like the target's.
std::vector<int64_t> level_times(const PlanningProblem& problem, const std::vector<int64_t>& times) {
  std::vector<int64_t> leveled = times;
  for (uint32_t target = 0; target < times.size(); ++target) {
    const PlacementTarget& own = problem.targets[target];
    for (uint32_t slot = 0; slot < problem.slots.size(); ++slot) {
      if (are_alike(problem.slots[own.slot], problem.slots[slot]))
        leveled[target] = std::max(leveled[target], time_on_slot(problem, times, own.backend, slot));
    }
  }
  return leveled;
}

/// The longest that a copy of so many bytes takes between the host and another memory.
double transfer_time(const SegmentCosts& costs, size_t bytes) {
  double longest = 0;
  for (size_t space = 1; space < costs.links.size(); ++space) {
    for (const Link& link : {costs.links[host_memory][space], costs.links[space][host_memory]}) {
      if (link.latency >= too_long) continue;
      const double time =
          static_cast<double>(link.latency) + static_cast<double>(bytes) * link.nanoseconds_per_byte;
      longest = std::max(longest, time);
    }
  }
  return longest;
}

/// Values that one segment makes and others read.
std::vector<StageValue> find_stage_values(const Graph& graph, const SegmentCosts& costs,
                                          const std::vector<uint32_t>& segment_of) {
  std::map<ValueId, StageValue> values;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId read : values_read(graph.nodes[i])) {
      const Value& value = graph.value(read);
      if (value.producer == no_node || segment_of[index(value.producer)] == segment_of[i]) continue;
      StageValue& crossing = values[read];
      crossing.producer = segment_of[index(value.producer)];
      crossing.transfer = transfer_time(costs, value.type.fixed_bytes().value_or(0));
      if (std::ranges::find(crossing.consumers, segment_of[i]) == crossing.consumers.end())
        crossing.consumers.push_back(segment_of[i]);
    }
  }
  std::vector<StageValue> list;
  for (auto& [id, value] : values) list.push_back(std::move(value));
  return list;
}

/// Segments that share a group of nodes which one region holds.
std::vector<std::vector<uint32_t>> find_together(const Placement& placement,
                                                 const std::vector<uint32_t>& segment_of) {
  std::map<uint32_t, std::set<uint32_t>> by_group;
  for (uint32_t i = 0; i < placement.group.size(); ++i) by_group[placement.group[i]].insert(segment_of[i]);
  std::vector<std::vector<uint32_t>> together;
  for (const auto& [group, segments] : by_group)
    if (segments.size() > 1) together.emplace_back(segments.begin(), segments.end());
  return together;
}

}  // namespace

double held_bytes(const Graph& graph, const std::vector<NodeId>& segment) {
  std::set<ValueId> seen;
  double bytes = 0;
  const auto add = [&](ValueId id) {
    if (id == no_value || !seen.insert(id).second) return;
    const Value& value = graph.value(id);
    bytes +=
        static_cast<double>(value.constant ? value.constant->bytes() : value.type.fixed_bytes().value_or(1));
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

SegmentCosts level_alike_slots(const PlanningProblem& problem, SegmentCosts costs) {
  for (std::vector<int64_t>& times : costs.times) {
    const std::vector<int64_t> leveled = level_times(problem, times);
    if (std::ranges::any_of(leveled, [](int64_t time) { return time < too_long; })) times = leveled;
  }
  return costs;
}

ExecutorKinds find_executor_kinds(const PlanningProblem& problem, const Placement& placement,
                                  const SegmentCosts& costs) {
  ExecutorKinds kinds;
  for (uint32_t slot = 0; slot < problem.slots.size(); ++slot) {
    ExecutorKind made = run_as_placed(problem, placement, costs, slot);
    for (uint32_t target = 0; target < problem.targets.size(); ++target) {
      if (problem.targets[target].slot != slot) continue;
      ExecutorKind single = run_on(problem, costs, target);
      if (total_time(single) < total_time(made)) made = std::move(single);
    }
    const auto is_same = [&](const ExecutorKind& kind) {
      return are_alike(problem.slots[kind.slots[0]], problem.slots[slot]) && kind.times == made.times &&
             kind.backends == made.backends;
    };
    const auto same = std::ranges::find_if(kinds, is_same);
    if (same == kinds.end())
      kinds.push_back(std::move(made));
    else
      same->slots.push_back(slot);
  }
  return kinds;
}

std::vector<ExecutorGroup> distinct_groups(const std::vector<ExecutorGroup>& groups) {
  std::vector<ExecutorGroup> distinct;
  for (const ExecutorGroup& group : groups)
    if (std::ranges::find(distinct, group) == distinct.end()) distinct.push_back(group);
  return distinct;
}

StageProblem make_stage_problem(const PlanningProblem& problem, const Placement& placement,
                                const SegmentCosts& costs, const ExecutorKinds& kinds,
                                const std::vector<ExecutorGroup>& groups, const std::vector<double>& memory) {
  StageProblem made;
  const std::vector<ExecutorGroup> distinct = distinct_groups(groups);
  for (const ExecutorGroup& group : distinct) {
    const DeviceSlot& slot = problem.slots[kinds[group.kind].slots[0]];
    const bool is_on_host = slot.space == host_memory;
    made.devices.push_back({.name = slot.name,
                            .count = static_cast<uint32_t>(std::ranges::count(groups, group)),
                            .memory = is_on_host ? cannot_run : memory[slot.space],
                            .pays_transfers = !is_on_host});
  }
  std::vector<uint32_t> segment_of(problem.graph.nodes.size());
  for (uint32_t s = 0; s < costs.segments.size(); ++s) {
    for (NodeId node : costs.segments[s]) segment_of[index(node)] = s;
    StageNode node{{}, held_bytes(problem.graph, costs.segments[s])};
    for (const ExecutorGroup& group : distinct)
      node.time.push_back(kinds[group.kind].times[s] / group.replicas);
    made.nodes.push_back(std::move(node));
  }
  made.values = find_stage_values(problem.graph, costs, segment_of);
  made.together = find_together(placement, segment_of);
  return made;
}

}  // namespace intarsia
