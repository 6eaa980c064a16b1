#include "rewrite/find_parts.h"

#include <algorithm>

#include "plan/partition/is_work.h"
#include "plan/partition/partition_graph.h"
#include "rewrite/sample_inputs.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"

namespace intarsia {
namespace {

constexpr size_t few_nodes = 4;  // fewer, without work, are not worth the microsecond of a call

enum Side : uint32_t { in_program = 0, in_tensorflow = 1 };

bool is_in_tensorflow(const PlannedFunction& planned, const PlacedNode& node) {
  return planned.problem->targets[node.target].backend->name() == "tensorflow";
}

/// Names sizes: each that is neither a number nor a single symbol gets a symbol; equal sizes get the same
/// one.
class SizeNames {
 public:
  Dim name(const Dim& size, const std::string& value, size_t axis) {
    if (size.is_number() || size.symbol() != nullptr) return size;
    for (const auto& [known, symbol] : named_)
      if (provably_equal(known, size)) return symbol;
    const Dim symbol = Dim::named(fmt::format("{}_dim{}", value, axis));
    named_.emplace_back(size, symbol);
    return symbol;
  }

 private:
  std::vector<std::pair<Dim, Dim>> named_;
};

/// Leaves types to the inputs and constants alone.
void forget_types(Graph& graph) {
  SizeNames names;
  for (Value& value : graph.values)
    if (!value.constant && value.producer != no_node) value.type = {};
  for (ValueId id : graph.inputs) {
    Value& input = graph.value(id);
    input.type.elements.reset();
    for (size_t axis = 0; input.type.shape && axis < input.type.shape->size(); ++axis)
      (*input.type.shape)[axis] = names.name((*input.type.shape)[axis], input.name, axis);
  }
  graph.open_sizes.clear();
}

/// Returns the sizes of the part's symbols where the body has these.
std::map<std::string, int64_t> planned_sizes(const Graph& body, const Graph& part,
                                             const std::vector<ValueId>& inputs) {
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<Shape> planned = body.planned_shape(inputs[i]);
    if (planned) add_sizes(part.value(part.inputs[i]).type, *planned, sizes);
  }
  return sizes;
}

bool pays(const Graph& graph, const std::vector<NodeId>& nodes) {
  return nodes.size() >= few_nodes ||
         std::ranges::any_of(nodes, [&](NodeId node) { return is_work(graph.node(node)); });
}

/// Returns the shape with what is no number unknown.
std::optional<SymbolicShape> numbers_of(const std::optional<SymbolicShape>& shape) {
  std::optional<SymbolicShape> numbers = shape;
  if (numbers)
    for (Dim& size : *numbers)
      if (!size.is_number()) size = Dim::unknown();
  return numbers;
}

Result<std::vector<ExchangedTensor>> exchange(const Graph& graph, const std::vector<std::string>& names,
                                              const std::map<std::string, std::string>& sources) {
  std::vector<ExchangedTensor> tensors;
  for (const std::string& name : names) {
    const auto value = std::ranges::find(graph.values, name, &Value::name);
    const auto source = sources.find(name);
    if (value == graph.values.end() || source == sources.end())
      return fail("the value '{}' is no tensor of the model's", name);
    tensors.push_back(
        {source->second, tensorflow::data_type_of(value->type.dtype), numbers_of(value->type.shape)});
  }
  return tensors;
}

/// Lets levels never fall along an edge, as those of nodes that are not the body's are not known.
std::vector<uint32_t> rise(const Graph& graph, std::vector<uint32_t> levels) {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (ValueId read : values_read(graph.nodes[i]))
      if (const NodeId from = graph.value(read).producer; from != no_node)
        levels[i] = std::max(levels[i], levels[index(from)]);
  return levels;
}

}  // namespace

void complete_copies(Graph& graph) {
  for (Node& node : graph.nodes)
    if (node.op == "Identity" && !node.attributes.has("T"))
      node.attributes.set(
          "T", tensorflow::encode_type(tensorflow::data_type_of(graph.value(node.inputs[0]).type.dtype)));
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (ValueId value : values) names.push_back(graph.value(value).name);
  return names;
}

bool uses_tensorflow(const PlannedFunction& planned) {
  return std::ranges::any_of(planned.chosen.plan.placement.nodes,
                             [&](const PlacedNode& node) { return is_in_tensorflow(planned, node); });
}

std::vector<BodyPart> find_parts(const PlannedFunction& planned,
                                 const std::map<std::string, uint32_t>& levels) {
  const Graph& graph = planned.problem->graph;
  Placement sides = planned.chosen.plan.placement;
  std::vector<uint32_t> level_of;
  for (size_t i = 0; i < sides.nodes.size(); ++i) {
    PlacedNode& node = sides.nodes[i];
    node.target = is_in_tensorflow(planned, node) ? in_tensorflow : in_program;
    node.open_size = 0;
    const auto level = levels.find(graph.nodes[i].name);
    level_of.push_back(level == levels.end() ? 0 : level->second);
  }
  sides.divide(rise(graph, std::move(level_of)));
  const Partition partition = partition_graph(graph, sides);
  std::vector<BodyPart> parts;
  for (size_t i = 0; i < partition.regions.size(); ++i) {
    const std::vector<NodeId>& nodes = partition.regions[i].nodes;
    if (partition.regions[i].target != in_program || !pays(graph, nodes)) continue;
    const Boundary& boundary = partition.boundaries[i];
    Graph original = extract_subgraph(graph, nodes, boundary);
    complete_copies(original);
    BodyPart part{
        original, original, names_of(graph, boundary.inputs), names_of(graph, boundary.outputs), {}};
    forget_types(part.graph);
    part.sizes = planned_sizes(graph, part.graph, boundary.inputs);
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<ProgramCall> make_call(const std::string& function, const Graph& graph,
                              const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                              const std::map<std::string, std::string>& sources) {
  return ProgramCall{.function = function,
                     .inputs = TRY(exchange(graph, inputs, sources)),
                     .outputs = TRY(exchange(graph, outputs, sources))};
}

}  // namespace intarsia
