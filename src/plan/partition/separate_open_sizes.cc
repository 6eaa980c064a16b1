#include "plan/partition/separate_open_sizes.h"

#include <map>

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

}  // namespace

void separate_open_sizes(const PlanningProblem& problem, Placement& placement) {
  std::map<std::string, uint32_t> numbers{{"", 0}};
  for (uint32_t i = 0; i < placement.nodes.size(); ++i) {
    PlacedNode& node = placement.nodes[i];
    node.open_size = 0;
    const std::string symbol = find_symbol(problem.graph, problem.graph.nodes[i]);
    if (symbol.empty() ||
        !problem.targets[node.target].backend->wants_one_open_size(problem.graph, NodeId(i)))
      continue;
    node.open_size = numbers.try_emplace(symbol, static_cast<uint32_t>(numbers.size())).first->second;
  }
}

}  // namespace intarsia
