#include "passes/remove_dead_nodes.h"

namespace intarsia {
namespace {

/// Marks needed values and nodes backward from the outputs; nodes are in order, so one sweep suffices.
std::vector<bool> find_needed_values(const Graph& graph, std::vector<bool>& needed_nodes) {
  std::vector<bool> needed(graph.values.size(), false);
  for (ValueId output : graph.outputs) needed[index(output)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    for (ValueId output : graph.nodes[i].outputs)
      needed_nodes[i] = needed_nodes[i] || (output != no_value && needed[index(output)]);
    if (!needed_nodes[i]) continue;
    for (ValueId read : values_read(graph.nodes[i])) needed[index(read)] = true;
    for (ValueId output : graph.nodes[i].outputs) {
      if (output != no_value) needed[index(output)] = true;
    }
  }
  for (ValueId input : graph.inputs) needed[index(input)] = true;
  return needed;
}

void renumber(std::vector<ValueId>& ids, const std::vector<ValueId>& new_ids) {
  for (ValueId& id : ids) {
    if (id != no_value) id = new_ids[index(id)];
  }
}

}  // namespace

void remove_dead_nodes(Graph& graph) {
  std::vector<bool> needed_nodes(graph.nodes.size(), false);
  const std::vector<bool> needed_values = find_needed_values(graph, needed_nodes);
  std::vector<ValueId> new_ids(graph.values.size(), no_value);
  std::vector<Value> values;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (!needed_values[i]) continue;
    new_ids[i] = ValueId{static_cast<uint32_t>(values.size())};
    values.push_back(std::move(graph.values[i]));
    values.back().producer = no_node;
  }
  std::vector<Node> nodes = std::move(graph.nodes);
  graph.values = std::move(values);
  graph.nodes.clear();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!needed_nodes[i]) continue;
    renumber(nodes[i].inputs, new_ids);
    renumber(nodes[i].captures, new_ids);
    renumber(nodes[i].outputs, new_ids);
    graph.add_node(std::move(nodes[i]));
  }
  renumber(graph.inputs, new_ids);
  renumber(graph.outputs, new_ids);
}

}  // namespace intarsia
