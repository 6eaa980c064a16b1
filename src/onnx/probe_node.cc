#include "onnx/probe_node.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace intarsia {
namespace {

constexpr size_t small_constant_bytes = 4096;

bool is_type_known(const Value& value) {
  return value.constant ||
         (value.type.opaque ? !value.type.encoded.empty() : value.type.dtype != DType::undefined);
}

/// Finds the node and, where types are unknown, the producers of what it reads; ids ascend.
std::vector<NodeId> find_cone(const Graph& graph, NodeId node) {
  std::set<NodeId> cone;
  std::vector<NodeId> open{node};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!cone.insert(id).second) continue;
    for (ValueId read : values_read(graph.node(id))) {
      const Value& value = graph.value(read);
      if (!is_type_known(value) && value.producer != no_node) open.push_back(value.producer);
    }
  }
  return {cone.begin(), cone.end()};
}

bool stays_constant(const Tensor& tensor) {
  const bool plain =
      is_integer(tensor.dtype()) || tensor.dtype() == DType::boolean || tensor.dtype() == DType::string;
  return plain && tensor.bytes() <= small_constant_bytes;
}

void erase_sizes(ValueType& type) {
  if (!type.shape) return;
  for (Dim& dim : *type.shape) dim = Dim::unknown();
}

/// Builder of a separate graph from the nodes of the cone and the values they touch; values without a
/// producer in it are its inputs.
class ProbeBuilder {
 public:
  ProbeBuilder(const Graph& graph, ProbeOptions options) : graph_(graph), options_(options) {
    probe_.opsets = graph.opsets;
  }

  void add(const Node& node) {
    Node copy = node;
    for (auto* list : {&copy.inputs, &copy.captures}) {
      for (ValueId& id : *list) id = map_read(id);
    }
    for (ValueId& id : copy.outputs) {
      if (id == no_value) continue;
      const ValueId made = map_new(id, {});  // type left open: the framework infers it
      probe_.outputs.push_back(made);
      id = made;
    }
    names_matter_ |= !node.captures.empty();
    probe_.add_node(std::move(copy));
  }

  Graph finish() {
    for (size_t i = 0; i < probe_.nodes.size(); ++i) probe_.nodes[i].name = fmt::format("n{}", i);
    for (size_t i = 0; i < probe_.values.size() && !names_matter_; ++i)
      probe_.values[i].name = fmt::format("v{}", i);
    return std::move(probe_);
  }

 private:
  ValueId map_new(ValueId id, ValueType type) {
    return mapped_[id] = probe_.add_value(graph_.value(id).name, std::move(type));
  }

  ValueId map_read(ValueId id) {
    if (id == no_value) return id;
    if (auto at = mapped_.find(id); at != mapped_.end()) return at->second;
    const Value& value = graph_.value(id);
    if (value.constant && (options_.keep_constants || stays_constant(*value.constant))) {
      return mapped_[id] = probe_.add_constant(value.name, *value.constant);
    }
    ValueType type = value.type;
    if (value.constant) type = {value.constant->dtype(), to_symbolic(value.constant->shape()), false, {}};
    if (!options_.keep_sizes) erase_sizes(type);
    const ValueId input = map_new(id, std::move(type));
    probe_.inputs.push_back(input);
    return input;
  }

  const Graph& graph_;
  ProbeOptions options_;
  bool names_matter_ = false;  // whether a subgraph reads values by name
  Graph probe_;
  std::map<ValueId, ValueId> mapped_;
};

}  // namespace

Graph make_probe(const Graph& graph, NodeId node, ProbeOptions options) {
  ProbeBuilder builder(graph, options);
  for (NodeId id : find_cone(graph, node)) builder.add(graph.node(id));
  return builder.finish();
}

}  // namespace intarsia
