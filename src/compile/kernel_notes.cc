#include "compile/kernel_notes.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "graph/count_operations.h"

namespace intarsia {
namespace {

/// Program numbers of a region's nodes, by name.
using NodeNumbers = std::unordered_map<std::string_view, uint32_t>;

std::unique_ptr<fbs::KernelNoteT> describe_kernel(const KernelNote& from, const NodeNumbers& numbers) {
  auto note = std::make_unique<fbs::KernelNoteT>();
  for (const std::string& name : from.nodes) {
    if (const auto known = numbers.find(name); known != numbers.end()) note->nodes.push_back(known->second);
  }
  note->dtype = static_cast<uint8_t>(from.dtype);
  note->dims = from.shape.value_or(Shape());
  note->shape_unknown = !from.shape;
  note->weights = from.weights;
  note->operations = from.operations;
  note->bytes = from.bytes;
  note->algorithm = from.algorithm;
  return note;
}

/// Checks whether frameworks compute the node together with the contraction before it.
bool is_epilogue(const Node& node) {
  constexpr std::array ops{"Add",       "BatchNormalization",
                           "Clip",      "HardSigmoid",
                           "HardSwish", "LeakyRelu",
                           "Mul",       "PRelu",
                           "Relu",      "Sigmoid",
                           "Sub",       "Tanh",
                           "Identity"};
  return node.domain.empty() && std::ranges::find(ops, node.op) != ops.end();
}

/// Finds, for nodes of a region, the contraction that a framework may fuse them with.
class EpilogueFinder {
 public:
  EpilogueFinder(const Graph& graph, const std::vector<NodeId>& nodes)
      : graph_(graph), readers_(find_readers(graph)), nodes_(nodes.begin(), nodes.end()) {}

  /// Returns the nodes from the contraction to the one before `last`; empty if there is no such chain.
  std::vector<NodeId> find(NodeId last) const {
    std::vector<NodeId> chain;
    for (NodeId node = last; is_epilogue(graph_.node(node));) {
      const NodeId before = producer(graph_.node(node));
      if (before == no_node) return {};
      chain.insert(chain.begin(), before);
      if (count_operations(graph_, graph_.node(before)) > 0) return chain;
      node = before;
    }
    return {};
  }

 private:
  /// Returns the last producer of an input that is made in the region and has no other reader; else no_node.
  NodeId producer(const Node& node) const {
    NodeId last = no_node;
    for (ValueId input : node.inputs) {
      const NodeId maker = input == no_value ? no_node : graph_.value(input).producer;
      const bool fits = maker != no_node && nodes_.contains(maker) && readers_[index(input)].size() == 1;
      if (fits && (last == no_node || maker > last)) last = maker;
    }
    return last;
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::set<NodeId> nodes_;
};

std::unique_ptr<fbs::KernelNoteT> describe_node(const Graph& graph, NodeId id, uint32_t number,
                                                bool keep_names) {
  auto note = std::make_unique<fbs::KernelNoteT>();
  const Node& node = graph.node(id);
  note->nodes = {number};
  note->weights = weights_shape(graph, node);
  note->operations = count_operations(graph, node);
  note->bytes = count_bytes(graph, node);
  note->shape_unknown = true;
  if (!has_output(node, 0)) return note;
  const Value& output = graph.value(node.outputs[0]);
  if (keep_names) note->output = output.name;
  note->dtype = static_cast<uint8_t>(output.type.dtype);
  if (std::optional<Shape> shape = output.type.fixed_shape()) {
    note->dims = *std::move(shape);
    note->shape_unknown = false;
  }
  return note;
}

}  // namespace

std::vector<uint8_t> pack_kernel_notes(const FunctionParts& parts, size_t region, uint32_t first_node,
                                       bool keep_names) {
  const Graph& graph = parts.problem.graph;
  const std::vector<KernelNote>& kernels = parts.regions.regions[region].notes;
  fbs::KernelNotesT notes;
  notes.in_order = !kernels.empty();
  const std::vector<NodeId>& nodes = parts.plan.partition.regions[region].nodes;
  const auto number = [&](NodeId id) { return first_node + static_cast<uint32_t>(index(id)); };
  if (notes.in_order) {
    NodeNumbers numbers;
    for (NodeId id : nodes) numbers.emplace(graph.node(id).name, number(id));
    for (const KernelNote& kernel : kernels) notes.notes.push_back(describe_kernel(kernel, numbers));
  } else {
    const EpilogueFinder epilogues(graph, nodes);
    for (NodeId id : nodes) {
      notes.notes.push_back(describe_node(graph, id, number(id), keep_names));
      std::ranges::transform(epilogues.find(id), std::back_inserter(notes.notes.back()->fused), number);
    }
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::KernelNotes::Pack(builder, &notes));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace intarsia
