#include "plan/place/cost_graph.h"

#include <cmath>
#include <set>

namespace intarsia {
namespace {

int64_t count_bytes(const ValueType& type, int64_t unknown_size) {
  if (type.opaque) return 0;
  if (!type.shape) return static_cast<int64_t>(dtype_bytes(type.dtype, static_cast<size_t>(unknown_size)));
  double elements = 1;
  for (const Dim& dim : *type.shape)
    elements *= static_cast<double>(dim.is_number() ? dim.number() : unknown_size);
  elements = std::min(elements, static_cast<double>(too_long));
  return static_cast<int64_t>(dtype_bytes(type.dtype, static_cast<size_t>(elements)));
}

class GraphCosting {
 public:
  GraphCosting(const Graph& graph, const std::vector<uint32_t>& group, const MeasuredCosts& measured)
      : graph_(graph), measured_(measured) {
    result_.costs.targets = measured.targets;
    result_.costs.links = measured.links;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
      add_node(node, group.empty() ? node : group[node]);
  }

  GraphCosts run() {
    const std::vector<std::vector<NodeId>> readers = find_readers(graph_);
    const std::set<ValueId> outputs(graph_.outputs.begin(), graph_.outputs.end());
    for (uint32_t v = 0; v < graph_.values.size(); ++v)
      add_value(graph_.values[v], readers[v], outputs.contains(ValueId{v}));
    return std::move(result_);
  }

 private:
  void add_node(uint32_t node, uint32_t first) {
    INTARSIA_CHECK(first <= node);
    const std::vector<int64_t>& times = measured_.times[node];
    if (first == node) {
      result_.atom_of.push_back(static_cast<uint32_t>(result_.costs.times.size()));
      result_.costs.times.push_back(times);
      return;
    }
    result_.atom_of.push_back(result_.atom_of[first]);
    std::vector<int64_t>& sum = result_.costs.times[result_.atom_of[first]];
    for (size_t t = 0; t < times.size(); ++t)
      sum[t] = sum[t] >= too_long || times[t] >= too_long ? never : sum[t] + times[t];
  }

  void add_value(const Value& value, const std::vector<NodeId>& readers, bool is_output) {
    if (value.constant) return;
    CostedValue costed{.is_output = is_output};
    if (value.producer != no_node) costed.producer = result_.atom_of[index(value.producer)];
    for (NodeId reader : readers) {
      const uint32_t atom = result_.atom_of[index(reader)];
      if (atom != costed.producer) costed.readers.push_back(atom);
    }
    std::ranges::sort(costed.readers);
    costed.readers.erase(std::ranges::unique(costed.readers).begin(), costed.readers.end());
    if (costed.readers.empty() && !is_output) return;
    costed.bytes = count_bytes(value.type, measured_.unknown_size);
    result_.costs.values.push_back(std::move(costed));
  }

  const Graph& graph_;
  const MeasuredCosts& measured_;
  GraphCosts result_;
};

}  // namespace

GraphCosts cost_graph(const Graph& graph, const std::vector<uint32_t>& group, const MeasuredCosts& measured) {
  return GraphCosting(graph, group, measured).run();
}

}  // namespace intarsia
