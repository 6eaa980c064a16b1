#include "graph/graph.h"

#include <algorithm>
#include <queue>
#include <set>

namespace intarsia {

namespace {

/// Returns the bytes of a value of this type with these sizes, if it consists of numbers or bits.
std::optional<uint64_t> bytes_of(const ValueType& type, const std::optional<Shape>& sizes) {
  if (!sizes || type.opaque || type.dtype == DType::string || type.dtype == DType::undefined)
    return std::nullopt;
  return dtype_bytes(type.dtype, static_cast<size_t>(element_count(*sizes)));
}

/// Returns the sizes of a value of this type with these numbers of open sizes; nullopt where others remain.
std::optional<Shape> shape_at(const ValueType& type, const std::map<std::string, Dim>& sizes) {
  if (!type.shape) return std::nullopt;
  SymbolicShape numbers;
  for (const Dim& size : *type.shape) numbers.push_back(size.substitute(sizes));
  return static_shape(numbers);
}

}  // namespace

std::optional<uint64_t> ValueType::fixed_bytes() const { return bytes_of(*this, fixed_shape()); }

int64_t OpenSize::tuned_size() const {
  if (planned) return *planned;
  return tuned.empty() ? std::clamp<int64_t>(1, range.min, range.max) : tuned[0];
}

std::string print_type(const ValueType& type) {
  if (type.opaque) return "opaque";
  return std::string(dtype_name(type.dtype)) + (type.shape ? print_shape(*type.shape) : "[*]");
}

std::optional<Shape> Graph::planned_shape(ValueId id) const {
  if (open_sizes.empty()) return value(id).type.fixed_shape();
  std::map<std::string, Dim> numbers;
  for (const OpenSize& size : open_sizes) numbers[size.name] = size.tuned_size();
  return shape_at(value(id).type, numbers);
}

std::optional<uint64_t> Graph::planned_bytes(ValueId id) const {
  return bytes_of(value(id).type, planned_shape(id));
}

std::map<std::string, Dim> Graph::counted_sizes() const {
  std::map<std::string, Dim> numbers;
  for (const OpenSize& size : open_sizes) numbers[size.name] = size.range.counted(size.tuned);
  return numbers;
}

std::optional<uint64_t> Graph::bytes_at(ValueId id, const std::map<std::string, Dim>& sizes) const {
  const std::optional<Shape> shape = shape_at(value(id).type, sizes);
  if (shape && !checked_elements(*shape)) return ~uint64_t{0};
  return bytes_of(value(id).type, shape);
}

ValueId Graph::add_value(std::string value_name, ValueType type) {
  values.push_back(Value{std::move(value_name), std::move(type), no_node, std::nullopt});
  return ValueId{static_cast<uint32_t>(values.size() - 1)};
}

ValueId Graph::add_constant(std::string value_name, Tensor tensor) {
  const ValueId id =
      add_value(std::move(value_name), ValueType{tensor.dtype(), to_symbolic(tensor.shape()), false, {}});
  value(id).constant = std::move(tensor);
  return id;
}

NodeId Graph::add_node(Node node) {
  const NodeId id{static_cast<uint32_t>(nodes.size())};
  for (ValueId output : node.outputs) {
    if (output != no_value) value(output).producer = id;
  }
  nodes.push_back(std::move(node));
  return id;
}

bool has_input(const Node& node, size_t i) { return i < node.inputs.size() && node.inputs[i] != no_value; }
bool has_output(const Node& node, size_t i) { return i < node.outputs.size() && node.outputs[i] != no_value; }

std::vector<ValueId> values_read(const Node& node) {
  std::vector<ValueId> read;
  for (ValueId input : node.inputs) {
    if (input != no_value) read.push_back(input);
  }
  read.insert(read.end(), node.captures.begin(), node.captures.end());
  return read;
}

std::vector<std::vector<NodeId>> find_readers(const Graph& graph) {
  std::vector<std::vector<NodeId>> readers(graph.values.size());
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId read : values_read(graph.nodes[i])) {
      std::vector<NodeId>& list = readers[index(read)];
      if (list.empty() || list.back() != NodeId{i}) list.push_back(NodeId{i});
    }
  }
  return readers;
}

Status sort_nodes(Graph& graph) {
  const std::vector<std::vector<NodeId>> readers = find_readers(graph);
  std::vector<size_t> missing(graph.nodes.size(), 0);
  for (const Value& value : graph.values) {
    if (value.producer == no_node) continue;
    for (NodeId reader : readers[&value - graph.values.data()]) ++missing[index(reader)];
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (ValueId output : graph.nodes[order.back()].outputs) {
      if (output == no_value) continue;
      for (NodeId reader : readers[index(output)]) {
        if (--missing[index(reader)] == 0) ready.push(static_cast<uint32_t>(index(reader)));
      }
    }
  }
  if (order.size() != graph.nodes.size()) {
    const size_t at = std::ranges::find_if(missing, [](size_t n) { return n > 0; }) - missing.begin();
    return fail("node '{}' ({}) is on a cycle: it needs its own result", graph.nodes[at].name,
                graph.nodes[at].op);
  }
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (uint32_t from : order) sorted.push_back(std::move(graph.nodes[from]));
  graph.nodes = std::move(sorted);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId output : graph.nodes[i].outputs) {
      if (output != no_value) graph.value(output).producer = NodeId{i};
    }
  }
  return {};
}

namespace {

/// Copies values of one graph to another, each once, under the same name.
class ValueCopier {
 public:
  ValueCopier(const Graph& from, Graph& to) : from_(from), to_(to) {}

  ValueId copy(ValueId id) {
    if (id == no_value) return no_value;
    auto [at, is_new] = copies_.try_emplace(id, no_value);
    if (is_new) {
      const Value& value = from_.value(id);
      at->second = to_.add_value(value.name, value.type);
      to_.value(at->second).constant = value.constant;
      to_.value(at->second).folded = value.folded;
      to_.value(at->second).quantization = value.quantization;
    }
    return at->second;
  }

  std::vector<ValueId> copy(const std::vector<ValueId>& ids) {
    std::vector<ValueId> copied;
    for (ValueId id : ids) copied.push_back(copy(id));
    return copied;
  }

 private:
  const Graph& from_;
  Graph& to_;
  std::map<ValueId, ValueId> copies_;
};

}  // namespace

BoundaryFinder::BoundaryFinder(const Graph& graph)
    : graph_(graph), readers_(find_readers(graph)), is_output_(graph.values.size(), false) {
  for (ValueId output : graph.outputs) is_output_[index(output)] = true;
}

Boundary BoundaryFinder::find(const std::vector<NodeId>& nodes) const {
  Boundary boundary{find_boundary_inputs(graph_, nodes), {}};
  for (NodeId node : nodes) {
    for (ValueId output : graph_.node(node).outputs) {
      if (output == no_value) continue;
      const bool read_outside = std::ranges::any_of(
          readers_[index(output)], [&](NodeId reader) { return !std::ranges::binary_search(nodes, reader); });
      if (read_outside || is_output_[index(output)]) boundary.outputs.push_back(output);
    }
  }
  return boundary;
}

std::vector<ValueId> find_boundary_inputs(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<ValueId> inputs;
  std::set<ValueId> seen;
  for (NodeId node : nodes) {
    for (ValueId read : values_read(graph.node(node))) {
      const Value& value = graph.value(read);
      const bool inside = value.producer != no_node && std::ranges::binary_search(nodes, value.producer);
      if (!inside && !value.constant && seen.insert(read).second) inputs.push_back(read);
    }
  }
  return inputs;
}

void replace_sizes(Graph& graph, const std::function<Dim(const Dim&)>& replace) {
  const auto replace_all = [&](std::vector<Dim>& sizes) {
    for (Dim& size : sizes) size = replace(size);
  };
  for (Value& value : graph.values) {
    if (value.type.shape) replace_all(*value.type.shape);
    if (value.type.elements) replace_all(*value.type.elements);
  }
}

Graph extract_subgraph(const Graph& graph, const std::vector<NodeId>& nodes, const Boundary& boundary) {
  Graph part;
  part.name = graph.name;
  part.opsets = graph.opsets;
  part.open_sizes = graph.open_sizes;
  ValueCopier copier(graph, part);
  part.inputs = copier.copy(boundary.inputs);
  for (NodeId id : nodes) {
    Node node = graph.node(id);
    node.inputs = copier.copy(node.inputs);
    node.captures = copier.copy(node.captures);
    node.outputs = copier.copy(node.outputs);
    part.add_node(std::move(node));
  }
  part.outputs = copier.copy(boundary.outputs);
  return part;
}

}  // namespace intarsia
