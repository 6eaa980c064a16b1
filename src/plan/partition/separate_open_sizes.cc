#include "plan/partition/separate_open_sizes.h"

#include <algorithm>
#include <map>
#include <set>

namespace intarsia {
namespace {

/// Returns the first symbol of the node's outputs; empty if all their sizes are numbers or unknown.
std::string find_symbol(const Graph& graph, const Node& node) {
  for (ValueId output : node.outputs) {
    if (output == no_value || !graph.value(output).type.shape) continue;
    for (const Dim& size : *graph.value(output).type.shape)
      for (const std::string& symbol : size.symbols()) return symbol;
  }
  return {};
}

bool ends_region(const PlanningProblem& problem, const Placement& placement, NodeId node) {
  return problem.targets[placement[node].target].backend->ends_region(problem.graph, node);
}

/// Counts for each node how many nodes that end their region lie before it on one path, at most. Nodes of a
/// target that are equally many after such ends may share regions.
std::vector<uint32_t> count_ends(const PlanningProblem& problem, const Placement& placement) {
  const Graph& graph = problem.graph;
  std::vector<uint32_t> ends(placement.nodes.size(), 0);
  for (uint32_t i = 0; i < ends.size(); ++i)  // a node comes after those that it reads from
    for (const std::vector<ValueId>* values : {&graph.nodes[i].inputs, &graph.nodes[i].captures})
      for (ValueId value : *values) {
        const NodeId from = value == no_value ? no_node : graph.value(value).producer;
        if (from == no_node) continue;
        ends[i] = std::max(ends[i], ends[index(from)] + (ends_region(problem, placement, from) ? 1 : 0));
      }
  return ends;
}

/// Returns the targets that have nodes that end their region.
std::set<uint32_t> ending_targets(const PlanningProblem& problem, const Placement& placement) {
  std::set<uint32_t> targets;
  for (uint32_t i = 0; i < placement.nodes.size(); ++i)
    if (ends_region(problem, placement, NodeId(i))) targets.insert(placement.nodes[i].target);
  return targets;
}

}  // namespace

void separate_open_sizes(const PlanningProblem& problem, Placement& placement) {
  const std::vector<uint32_t> ends = count_ends(problem, placement);
  const std::set<uint32_t> ending = ending_targets(problem, placement);
  std::map<std::pair<std::string, uint32_t>, uint32_t> numbers{{{"", 0}, 0}};
  for (uint32_t i = 0; i < placement.nodes.size(); ++i) {
    PlacedNode& node = placement.nodes[i];
    std::string symbol = find_symbol(problem.graph, problem.graph.nodes[i]);
    if (!symbol.empty() &&
        !problem.targets[node.target].backend->wants_one_open_size(problem.graph, NodeId(i)))
      symbol.clear();
    const std::pair key{symbol, ending.contains(node.target) ? ends[i] : 0};
    node.open_size = numbers.try_emplace(key, static_cast<uint32_t>(numbers.size())).first->second;
  }
}

}  // namespace intarsia
