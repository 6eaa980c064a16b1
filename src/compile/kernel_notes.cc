#include "compile/kernel_notes.h"

#include <unordered_map>

#include "graph/count_operations.h"

namespace intarsia {
namespace {

/// Numbers in the program by the names of a region's nodes.
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
  NodeNumbers numbers;
  for (NodeId id : parts.plan.partition.regions[region].nodes) {
    const auto number = first_node + static_cast<uint32_t>(index(id));
    if (notes.in_order)
      numbers.emplace(graph.node(id).name, number);
    else
      notes.notes.push_back(describe_node(graph, id, number, keep_names));
  }
  for (const KernelNote& kernel : kernels) notes.notes.push_back(describe_kernel(kernel, numbers));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::KernelNotes::Pack(builder, &notes));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace intarsia
