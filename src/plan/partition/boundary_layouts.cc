#include "plan/partition/boundary_layouts.h"

#include <algorithm>

#include "target/target.h"

namespace intarsia {
namespace {

/// Version of the ONNX operator Transpose that is written here; it means the same since opset 1.
constexpr int transpose_version = 13;

Shape permute(const Shape& shape, const AxisOrder& order) {
  Shape permuted;
  for (size_t axis : order) permuted.push_back(shape[axis]);
  return permuted;
}

AxisOrder invert(const AxisOrder& order) {
  AxisOrder inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
  return inverse;
}

Node make_transpose(std::string name, const AxisOrder& order, ValueId from, ValueId to) {
  Node node{.name = std::move(name), .op = "Transpose", .domain = "", .version = transpose_version};
  node.attributes.set("perm", std::vector<int64_t>(order.begin(), order.end()));
  node.inputs = {from};
  node.outputs = {to};
  return node;
}

/// Finder of the backend whose regions alone make and read a value; null if others do, or callers.
class SoleBackend {
 public:
  SoleBackend(const PlanningProblem& problem, const Partition& partition)
      : problem_(problem), partition_(partition), readers_(find_readers(problem.graph)) {}

  const Target* of(ValueId value) const {
    const Graph& graph = problem_.graph;
    const NodeId producer = graph.value(value).producer;
    if (producer == no_node || std::ranges::find(graph.outputs, value) != graph.outputs.end()) return nullptr;
    const Target* backend = backend_of(producer);
    const bool is_sole = std::ranges::all_of(readers_[index(value)],
                                             [&](NodeId reader) { return backend_of(reader) == backend; });
    return is_sole ? backend : nullptr;
  }

 private:
  const Target* backend_of(NodeId node) const {
    return problem_.targets[partition_.regions[partition_.region_of[index(node)]].target].backend;
  }

  const PlanningProblem& problem_;
  const Partition& partition_;
  std::vector<std::vector<NodeId>> readers_;
};

/// Checks whether the order is that of the model; axes of one element do not count.
bool is_as_in_model(const AxisOrder& order, const Shape& shape) {
  AxisOrder longer;
  std::ranges::copy_if(order, std::back_inserter(longer), [&](size_t axis) { return shape[axis] > 1; });
  return std::ranges::is_sorted(longer);
}

}  // namespace

std::map<ValueId, AxisOrder> layouts_of_region(const Partition& partition, size_t region) {
  std::map<ValueId, AxisOrder> layouts;
  if (partition.layouts.empty()) return layouts;
  const Boundary& boundary = partition.boundaries[region];
  for (const std::vector<ValueId>* values : {&boundary.inputs, &boundary.outputs}) {
    for (ValueId value : *values) {
      if (const auto at = partition.layouts.find(value); at != partition.layouts.end()) layouts.insert(*at);
    }
  }
  return layouts;
}

Graph extract_region(const Graph& graph, const Partition& partition, size_t region) {
  const Boundary& boundary = partition.boundaries[region];
  Graph part = extract_subgraph(graph, partition.regions[region].nodes, boundary);
  if (partition.layouts.empty()) return part;
  std::vector<Node> nodes = std::exchange(part.nodes, {});
  const auto add_stored = [&](ValueId value, const AxisOrder& order) {
    const ValueType type = part.value(value).type;
    return part.add_value(part.value(value).name + "/stored",
                          {.dtype = type.dtype, .shape = to_symbolic(permute(*type.fixed_shape(), order))});
  };
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    const auto layout = partition.layouts.find(boundary.inputs[i]);
    if (layout == partition.layouts.end()) continue;
    const ValueId value = part.inputs[i];
    part.inputs[i] = add_stored(value, layout->second);
    part.add_node(make_transpose(part.value(value).name, invert(layout->second), part.inputs[i], value));
  }
  for (Node& node : nodes) part.add_node(std::move(node));
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    const auto layout = partition.layouts.find(boundary.outputs[i]);
    if (layout == partition.layouts.end()) continue;
    const ValueId value = part.outputs[i];
    part.outputs[i] = add_stored(value, layout->second);
    part.add_node(make_transpose(part.value(value).name, layout->second, value, part.outputs[i]));
  }
  return part;
}

Status choose_boundary_layouts(const PlanningProblem& problem, Partition& partition) {
  const SoleBackend sole(problem, partition);
  for (size_t r = 0; r < partition.regions.size(); ++r) {
    const std::vector<ValueId>& outputs = partition.boundaries[r].outputs;
    const Target* backend = problem.targets[partition.regions[r].target].backend;
    const auto is_private = [&](ValueId value) {
      const ValueType& type = problem.graph.value(value).type;
      return !type.opaque && type.fixed_shape() && type.shape->size() > 1 && sole.of(value) == backend;
    };
    if (std::ranges::none_of(outputs, is_private)) continue;
    const std::vector<AxisOrder> orders =
        TRY(backend->output_layouts(extract_region(problem.graph, partition, r)));
    INTARSIA_CHECK(orders.size() == outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueId value = outputs[i];
      if (is_private(value) && !is_as_in_model(orders[i], *problem.graph.value(value).type.fixed_shape()))
        partition.layouts[value] = orders[i];
    }
  }
  return {};
}

Status verify_boundary_layouts(const PlanningProblem& problem, const Partition& partition) {
  const SoleBackend sole(problem, partition);
  for (const auto& [id, order] : partition.layouts) {
    const Value& value = problem.graph.value(id);
    const std::optional<Shape> shape = value.type.fixed_shape();
    if (!shape || !is_order_of(order, shape->size()))
      return fail("value '{}' has a layout that does not order its axes", value.name);
    if (sole.of(id) == nullptr)
      return fail("value '{}' has a layout of its own but is not only between regions of one backend",
                  value.name);
  }
  return {};
}

}  // namespace intarsia
