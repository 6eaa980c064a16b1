#include "graph/graph_content.h"

#include "graph/print_graph.h"

namespace intarsia {
namespace {

constexpr int64_t most_floats_by_content = 64;

/// Checks for a large constant of floats; other numbers may be sizes, indices and tables, which decide what
/// runs.
bool is_weights(const Tensor& constant) {
  return is_float(constant.dtype()) && element_count(constant.shape()) > most_floats_by_content;
}

/// Copies the graph with its values in the order of their use.
Graph renumber(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) nodes.push_back(NodeId{i});
  return extract_subgraph(graph, nodes, {graph.inputs, graph.outputs});
}

}  // namespace

std::string print_content(const Graph& graph) {
  Graph content = renumber(graph);
  content.name.clear();
  content.opsets.clear();  // so that each operator is printed with its version
  for (size_t i = 0; i < content.values.size(); ++i) {
    Value& value = content.values[i];
    value.name = fmt::format("{}", i);
    if (value.constant && is_weights(*value.constant)) value.constant.reset();
  }
  for (Node& node : content.nodes) node.name = has_output(node, 0) ? content.value(node.outputs[0]).name : "";
  return print_graph(content);
}

}  // namespace intarsia
