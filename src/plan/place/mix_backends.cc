#include "plan/place/mix_backends.h"

#include "plan/place/cost_graph.h"
#include "plan/place/schedule_placement.h"

namespace intarsia {
namespace {

/// Returns the space that stands for a target in costs. Each backend has its own layout of values, so that
/// crossing to another costs something even within one memory: each target is a space, besides the host's,
/// which callers' values are in.
constexpr uint32_t space_of(uint32_t target) { return target + 1; }

class Mixer {
 public:
  Mixer(const PlanningProblem& problem, const SegmentCosts& costs) : problem_(problem), costs_(costs) {}

  MeasuredCosts measured() const {
    MeasuredCosts measured;
    const auto targets = static_cast<uint32_t>(problem_.targets.size());
    for (uint32_t t = 0; t < targets; ++t)
      measured.targets.push_back({space_of(t), costs_.boundaries[t].call});
    measured.links.assign(targets + 1, std::vector<Link>(targets + 1));
    for (uint32_t from = 0; from <= targets; ++from) {
      for (uint32_t to = 0; to <= targets; ++to) measured.links[from][to] = link(from, to);
    }
    measured.times.assign(problem_.graph.nodes.size(), std::vector<int64_t>(targets, 0));
    for (size_t s = 0; s < costs_.segments.size(); ++s)
      measured.times[index(costs_.segments[s][0])] = costs_.times[s];
    return measured;
  }

  std::vector<uint32_t> groups() const {
    std::vector<uint32_t> group(problem_.graph.nodes.size());
    for (const std::vector<NodeId>& segment : costs_.segments) {
      for (NodeId node : segment) group[index(node)] = static_cast<uint32_t>(index(segment[0]));
    }
    return group;
  }

 private:
  uint32_t memory_of(uint32_t space) const {
    return space == 0 ? host_memory : problem_.space_of_target[space - 1];
  }

  Link link(uint32_t from, uint32_t to) const {
    const uint32_t from_memory = memory_of(from), to_memory = memory_of(to);
    Link link = from_memory == to_memory ? Link{0, 0} : costs_.links[from_memory][to_memory];
    if (from != 0 && to != 0 && backend_of(from) != backend_of(to))
      link.nanoseconds_per_byte += costs_.boundaries[to - 1].per_byte;
    return link;
  }

  const Target* backend_of(uint32_t space) const { return problem_.targets[space - 1].backend; }

  const PlanningProblem& problem_;
  const SegmentCosts& costs_;
};

/// Explains a move: "cheapest: 0.12 ms in onnxruntime@cpu, 0.3 ms in halide@cpu".
std::string explain_move(const PlanningProblem& problem, const std::vector<int64_t>& times, uint32_t from,
                         uint32_t to) {
  const auto print = [&](uint32_t target) {
    return fmt::format("{:.3g} ms in {}", static_cast<double>(times[target]) / 1e6,
                       problem.targets[target].name);
  };
  if (times[from] >= too_long) return fmt::format("cheapest: {}", print(to));
  return fmt::format("cheapest: {}, {}", print(to), print(from));
}

/// Returns, for each atom, the target of its first node.
std::vector<uint32_t> targets_of_atoms(const GraphCosts& graph_costs, const Placement& placement) {
  std::vector<uint32_t> target_of(graph_costs.costs.times.size());
  for (size_t node = placement.nodes.size(); node-- > 0;)
    target_of[graph_costs.atom_of[node]] = placement.nodes[node].target;
  return target_of;
}

/// Returns `placed` with the segments on the targets of their atoms.
MixedPlacement move_segments(const PlanningProblem& problem, const Placement& placed,
                             const SegmentCosts& costs, const std::vector<uint32_t>& atom_of,
                             const std::vector<uint32_t>& target_of) {
  MixedPlacement mixed{placed};
  for (size_t s = 0; s < costs.segments.size(); ++s) {
    const uint32_t to = target_of[atom_of[index(costs.segments[s][0])]];
    for (NodeId node : costs.segments[s]) {
      uint32_t& target = mixed.placement[node].target;
      if (target == to) continue;
      mixed.placement[node].reason = explain_move(problem, costs.times[s], target, to);
      target = to;
    }
  }
  return mixed;
}

Executors list_executors(const PlanningProblem& problem) {
  Executors executors{{}, {host_memory}};
  for (uint32_t target = 0; target < problem.targets.size(); ++target) {
    executors.of_target.push_back(problem.targets[target].slot);
    executors.link_of_space.push_back(problem.space_of_target[target]);
  }
  return executors;
}

}  // namespace

std::optional<MixedPlacement> mix_backends(const PlanningProblem& problem, const Placement& placed,
                                           const SegmentCosts& costs) {
  const Mixer mixer(problem, costs);
  const GraphCosts graph_costs = cost_graph(problem.graph, mixer.groups(), mixer.measured());
  const CheapestPlacement cheapest = place_by_cost(graph_costs.costs);
  if (cheapest.cost.total() >= too_long) return std::nullopt;
  MixedPlacement mixed = move_segments(problem, placed, costs, graph_costs.atom_of, cheapest.target);
  mixed.predicted = cheapest.cost.total();
  return mixed;
}

std::optional<MixedPlacement> schedule_executors(const PlanningProblem& problem, const Placement& placed,
                                                 const SegmentCosts& costs) {
  const Mixer mixer(problem, costs);
  const GraphCosts graph_costs = cost_graph(problem.graph, mixer.groups(), mixer.measured());
  const ScheduledPlacement scheduled = schedule_placement(graph_costs.costs, list_executors(problem));
  if (scheduled.length == never) return std::nullopt;
  MixedPlacement mixed = move_segments(problem, placed, costs, graph_costs.atom_of, scheduled.target);
  mixed.predicted = scheduled.length;
  std::vector<uint32_t> rank;
  for (uint32_t atom : graph_costs.atom_of) rank.push_back(scheduled.rank[atom]);
  mixed.placement.schedule(rank);
  return mixed;
}

int64_t price_placement(const PlanningProblem& problem, const Placement& placement,
                        const SegmentCosts& costs) {
  const Mixer mixer(problem, costs);
  const GraphCosts graph_costs = cost_graph(problem.graph, mixer.groups(), mixer.measured());
  return cost_of(graph_costs.costs, targets_of_atoms(graph_costs, placement)).total();
}

int64_t price_schedule(const PlanningProblem& problem, const Placement& placement,
                       const SegmentCosts& costs) {
  const Mixer mixer(problem, costs);
  const GraphCosts graph_costs = cost_graph(problem.graph, mixer.groups(), mixer.measured());
  std::vector<uint32_t> rank;
  if (placement.is_scheduled) rank.resize(graph_costs.costs.times.size());
  for (size_t node = 0; placement.is_scheduled && node < placement.nodes.size(); ++node)
    rank[graph_costs.atom_of[node]] = placement.nodes[node].rank;
  return schedule_length(graph_costs.costs, list_executors(problem), targets_of_atoms(graph_costs, placement),
                         rank);
}

std::vector<std::vector<int64_t>> price_moves(const PlanningProblem& problem, const Placement& placement,
                                              const SegmentCosts& costs) {
  const auto target_of = [&](const std::vector<NodeId>& segment) { return placement[segment[0]].target; };
  SegmentCosts known = costs;  // unknown times are in no difference
  for (size_t s = 0; s < known.segments.size(); ++s) {
    int64_t& time = known.times[s][target_of(known.segments[s])];
    if (time >= too_long) time = 0;
  }
  const Mixer mixer(problem, known);
  const GraphCosts graph_costs = cost_graph(problem.graph, mixer.groups(), mixer.measured());
  const std::vector<uint32_t> now = targets_of_atoms(graph_costs, placement);
  const int64_t total = cost_of(graph_costs.costs, now).total();
  std::vector<std::vector<int64_t>> moves;
  for (size_t s = 0; s < known.segments.size(); ++s) {
    const std::vector<NodeId>& segment = known.segments[s];
    const uint32_t here = target_of(segment);
    std::vector<int64_t>& to = moves.emplace_back(problem.targets.size(), never);
    const bool is_whole =
        std::ranges::all_of(segment, [&](NodeId node) { return placement[node].target == here; });
    if (total == never || costs.times[s][here] >= too_long || !is_whole) continue;
    for (uint32_t there = 0; there < to.size(); ++there) {
      if (there == here || costs.times[s][there] >= too_long) continue;
      std::vector<uint32_t> moved = now;
      moved[graph_costs.atom_of[index(segment[0])]] = there;
      const int64_t cost = cost_of(graph_costs.costs, moved).total();
      if (cost != never) to[there] = cost - total;
    }
  }
  return moves;
}

}  // namespace intarsia
