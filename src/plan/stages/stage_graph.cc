#include "plan/stages/stage_graph.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <map>
#include <numeric>
#include <queue>
#include <set>

namespace intarsia {
namespace {

/// Disjoint sets of nodes.
class Sets {
 public:
  explicit Sets(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }
  uint32_t find(uint32_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  void join(uint32_t a, uint32_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<uint32_t> parent_;
};

/// Returns the least that the team pays for one value, in or out.
double least_copy(const StageProblem& problem, const StageTeam& team, const StageTraffic& traffic) {
  double rate = 0;
  for (uint32_t member : team.members) {
    const StageDevice& device = problem.devices[member];
    rate += 1 / std::min(device.in.time(traffic), device.out.time(traffic));
  }
  return 1 / rate;
}

bool is_free(const StageProblem& problem, const StageTeam& team) {
  return std::ranges::any_of(team.members, [&](uint32_t member) {
    return problem.devices[member].in.is_free() || problem.devices[member].out.is_free();
  });
}

/// Returns the least that a cut costs some stage where the value crosses it: one of its two ends pays, if at
/// most one team exchanges values for nothing.
double least_crossing(const StageProblem& problem, const StageValue& value) {
  uint32_t free = 0;
  double least = cannot_run;
  for (const StageTeam& team : problem.teams) {
    if (is_free(problem, team))
      free += team.count;
    else
      least = std::min(least, least_copy(problem, team, value.traffic()));
  }
  return free > 1 ? 0 : least;
}

/// Joins each set that lies on a cycle with the others there.
void join_cycles(const StageProblem& problem, Sets& sets) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(problem.nodes.size());
  for (const StageValue& value : problem.values) {
    if (value.producer == no_stage_node) continue;
    for (uint32_t consumer : value.consumers)
      boost::add_edge(sets.find(value.producer), sets.find(consumer), graph);
  }
  std::vector<uint32_t> component(problem.nodes.size());
  boost::strong_components(graph, component.data());
  std::map<uint32_t, uint32_t> first;
  for (uint32_t node = 0; node < problem.nodes.size(); ++node)
    if (sets.find(node) == node) sets.join(node, first.emplace(component[node], node).first->second);
}

/// Checks whether every device has memory for all nodes, so that memory never keeps a node away.
bool memory_never_binds(const StageProblem& problem) {
  double bytes = 0, memory = cannot_run;
  for (const StageNode& node : problem.nodes) bytes += node.bytes;
  for (const StageDevice& device : problem.devices) memory = std::min(memory, device.memory);
  return bytes <= memory;
}

bool takes_no_time(const StageNode& node) {
  return std::ranges::all_of(node.time, [](double time) { return time == 0; });
}

/// Joins ends that take no time to their only neighbor: on any other device such a node only adds a transfer.
void join_free_ends(const StageProblem& problem, Sets& sets) {
  const StageNeighbors neighbors = find_neighbors(problem);
  for (uint32_t node = 0; node < problem.nodes.size(); ++node) {
    if (!takes_no_time(problem.nodes[node])) continue;
    std::set<uint32_t> others;  // no_stage_node stands for outside
    for (uint32_t made : neighbors.made[node]) {
      const StageValue& value = problem.values[made];
      others.insert(value.consumers.begin(), value.consumers.end());
      if (value.is_output) others.insert(no_stage_node);
    }
    for (uint32_t value : neighbors.read[node]) others.insert(problem.values[value].producer);
    if (others.size() == 1 && *others.begin() != no_stage_node) sets.join(node, *others.begin());
  }
}

ContractedProblem merge(const StageProblem& problem, Sets& sets) {
  ContractedProblem result{
      {.devices = problem.devices, .teams = problem.teams, .nodes = {}, .values = {}, .together = {}}, {}};
  std::vector<uint32_t> number(problem.nodes.size());
  std::map<uint32_t, uint32_t> of_set;
  const std::vector<double> none(problem.devices.size(), 0);
  for (uint32_t node = 0; node < problem.nodes.size(); ++node) {
    const auto [at, is_new] = of_set.emplace(sets.find(node), result.members.size());
    if (is_new) result.members.emplace_back(), result.problem.nodes.push_back({none, 0});
    number[node] = at->second;
    result.members[at->second].push_back(node);
    StageNode& merged = result.problem.nodes[at->second];
    for (size_t kind = 0; kind < none.size(); ++kind) merged.time[kind] += problem.nodes[node].time[kind];
    merged.bytes += problem.nodes[node].bytes;
  }
  for (const StageValue& value : problem.values) {
    StageValue merged{value.producer == no_stage_node ? no_stage_node : number[value.producer],
                      {},
                      value.bytes,
                      value.is_output};
    for (uint32_t consumer : value.consumers)
      if (number[consumer] != merged.producer) merged.consumers.push_back(number[consumer]);
    std::ranges::sort(merged.consumers);
    merged.consumers.erase(std::ranges::unique(merged.consumers).begin(), merged.consumers.end());
    if (!merged.consumers.empty() || merged.is_output) result.problem.values.push_back(std::move(merged));
  }
  return result;
}

std::vector<uint32_t> all_of(const std::vector<uint32_t>& sets,
                             const std::vector<std::vector<uint32_t>>& members) {
  std::vector<uint32_t> all;
  for (uint32_t set : sets) all.insert(all.end(), members[set].begin(), members[set].end());
  std::ranges::sort(all);
  return all;
}

}  // namespace

StageNeighbors find_neighbors(const StageProblem& problem) {
  StageNeighbors neighbors{std::vector<std::vector<uint32_t>>(problem.nodes.size()),
                           std::vector<std::vector<uint32_t>>(problem.nodes.size())};
  for (uint32_t value = 0; value < problem.values.size(); ++value) {
    if (const uint32_t producer = problem.values[value].producer; producer != no_stage_node)
      neighbors.made[producer].push_back(value);
    for (uint32_t consumer : problem.values[value].consumers) {
      std::vector<uint32_t>& read = neighbors.read[consumer];
      if (read.empty() || read.back() != value) read.push_back(value);
    }
  }
  return neighbors;
}

std::optional<std::vector<uint32_t>> order_nodes(const StageProblem& problem,
                                                 const std::vector<double>& priority) {
  std::vector<uint32_t> missing(problem.nodes.size()), order;
  for (const StageValue& value : problem.values) {
    if (value.producer == no_stage_node) continue;
    for (uint32_t consumer : value.consumers) ++missing[consumer];
  }
  using Entry = std::pair<double, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto add = [&](uint32_t node) { ready.emplace(priority.empty() ? 0 : priority[node], node); };
  for (uint32_t node = 0; node < missing.size(); ++node)
    if (missing[node] == 0) add(node);
  const StageNeighbors neighbors = find_neighbors(problem);
  while (!ready.empty()) {
    const uint32_t node = ready.top().second;
    ready.pop();
    order.push_back(node);
    for (uint32_t value : neighbors.made[node])
      for (uint32_t consumer : problem.values[value].consumers)
        if (--missing[consumer] == 0) add(consumer);
  }
  if (order.size() < problem.nodes.size()) return std::nullopt;
  return order;
}

ContractedProblem contract_stage_problem(const StageProblem& problem, double most) {
  Sets sets(problem.nodes.size());
  for (const auto& group : problem.together)
    for (uint32_t node : group) sets.join(node, group[0]);
  for (const StageValue& value : problem.values) {
    if (value.producer == no_stage_node || least_crossing(problem, value) <= most) continue;
    for (uint32_t consumer : value.consumers) sets.join(value.producer, consumer);
  }
  join_cycles(problem, sets);
  ContractedProblem merged = merge(problem, sets);
  // Nodes whose only neighbor took others in may become ends.
  while (memory_never_binds(problem)) {
    Sets ends(merged.problem.nodes.size());
    join_free_ends(merged.problem, ends);
    ContractedProblem smaller = merge(merged.problem, ends);
    if (smaller.members.size() == merged.members.size()) break;
    for (std::vector<uint32_t>& members : smaller.members) members = all_of(members, merged.members);
    merged = std::move(smaller);
  }
  return merged;
}

}  // namespace intarsia
