#include "measure/evaluate_graph.h"

#include <algorithm>

namespace intarsia {
namespace {

/// Finds the last node that reads each value; outputs of the graph have none and stay.
std::vector<size_t> find_last_readers(const Graph& graph) {
  std::vector<size_t> last(graph.values.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId id : values_read(graph.nodes[i])) last[index(id)] = i;
  }
  for (ValueId id : graph.outputs) last[index(id)] = graph.nodes.size();
  return last;
}

Status run_node(const Node& node, const Evaluate& evaluate, std::vector<Tensor>& values) {
  if (!node.captures.empty())
    return fail("node '{}' ({}) has subgraphs, which only a framework runs", node.name, node.op);
  std::vector<const Tensor*> inputs;
  for (ValueId id : node.inputs) inputs.push_back(id == no_value ? nullptr : &values[index(id)]);
  std::vector<Tensor> outputs = TRY(evaluate(node, inputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (has_output(node, i)) values[index(node.outputs[i])] = std::move(outputs[i]);
  }
  return {};
}

}  // namespace

Result<std::vector<NamedValue>> evaluate_graph(const Graph& graph, std::span<const NamedValue> inputs,
                                               const Evaluate& evaluate) {
  std::vector<Tensor> values(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].constant) values[i] = *graph.values[i].constant;
  }
  for (ValueId id : graph.inputs) {
    const auto at = std::ranges::find(inputs, graph.value(id).name, &NamedValue::name);
    if (at == inputs.end()) return fail("input '{}' is missing", graph.value(id).name);
    values[index(id)] = at->tensor;
  }
  const std::vector<size_t> last = find_last_readers(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    TRY(run_node(graph.nodes[i], evaluate, values));
    for (ValueId id : values_read(graph.nodes[i])) {
      if (last[index(id)] == i) values[index(id)] = Tensor();
    }
  }
  std::vector<NamedValue> outputs;
  for (ValueId id : graph.outputs) outputs.push_back({graph.value(id).name, values[index(id)]});
  return outputs;
}

}  // namespace intarsia
