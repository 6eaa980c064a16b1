#include "backends/tensorflow/infer_types.h"

#include <algorithm>
#include <set>

#include "backends/tensorflow/region_session.h"
#include "backends/tensorflow/write_graph_def.h"
#include "tensorflow/dtypes.h"

namespace intarsia::tf {
namespace {

/// Returns the node with the producers of opaque values that it reads, directly or through others; ids
/// ascend.
std::vector<NodeId> with_opaque_producers(const Graph& graph, NodeId node) {
  std::set<NodeId> members{node};
  std::vector<NodeId> open{node};
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    for (ValueId input : graph.node(at).inputs) {
      if (input == no_value) continue;
      const Value& value = graph.value(input);
      if (value.type.opaque && value.producer != no_node && members.insert(value.producer).second)
        open.push_back(value.producer);
    }
  }
  return {members.begin(), members.end()};
}

/// Makes a graph of only these nodes; the outputs of the last one, in order, are the graph's.
Graph make_probe(const Graph& graph, const std::vector<NodeId>& nodes) {
  Boundary boundary{find_boundary_inputs(graph, nodes), {}};
  for (ValueId output : graph.node(nodes.back()).outputs) {
    if (output != no_value) boundary.outputs.push_back(output);
  }
  return extract_subgraph(graph, nodes, boundary);
}

Result<ValueType> read_type(const Library& library, SessionGraph& graph, TF_Output output) {
  const Api& api = library.api();
  const int data_type = api.output_type(output);
  ValueType type;
  if (tensorflow::is_opaque_type(data_type)) {
    type.opaque = true;
    return type;
  }
  type.dtype = tensorflow::dtype_of(data_type);
  CallStatus status(library);
  const int rank = api.output_rank(graph, output, status);
  TRY(status.check());
  if (rank < 0) return type;
  Shape sizes(static_cast<size_t>(rank));
  api.output_sizes(graph, output, sizes.data(), rank, status);
  TRY(status.check());
  type.shape.emplace();
  for (int64_t size : sizes) type.shape->push_back(size < 0 ? Dim::unknown() : Dim(size));
  return type;
}

/// Sets how many rows a ragged tensor gives a dense one: TensorFlow leaves that open even if their number, or
/// the number of row splits, is known.
void refine_rows(Graph& graph, const Node& node) {
  constexpr size_t first_partition = 3;
  const std::vector<std::string> kinds = node.attributes.get_strings("row_partition_types");
  if (node.op != "RaggedTensorToTensor" || node.outputs.empty() || kinds.empty() ||
      node.inputs.size() <= first_partition)
    return;
  std::optional<SymbolicShape>& shape = graph.value(node.outputs[0]).type.shape;
  if (!shape || shape->empty() || shape->front().is_number()) return;
  const Value& partition = graph.value(node.inputs[first_partition]);
  const std::optional<Shape> sizes = partition.type.fixed_shape();
  if (kinds[0] == "ROW_SPLITS" && sizes && sizes->size() == 1 && sizes->front() > 0)
    shape->front() = Dim(sizes->front() - 1);
  if (kinds[0] != "FIRST_DIM_SIZE" || !partition.constant || element_count(partition.constant->shape()) != 1)
    return;
  const Tensor& count = *partition.constant;
  const int64_t rows = count.dtype() == DType::i64   ? count.as<int64_t>()[0]
                       : count.dtype() == DType::i32 ? count.as<int32_t>()[0]
                                                     : -1;
  if (rows >= 0) shape->front() = Dim(rows);
}

/// Sets the shape of what a table of scalars gives: that of the keys.
void refine_lookup(Graph& graph, const Node& node) {
  if (node.op != "LookupTableFindV2" || node.outputs.empty() || node.inputs.size() < 2) return;
  ValueType& found = graph.value(node.outputs[0]).type;
  const NodeId table = graph.value(node.inputs[0]).producer;
  const ValueType& keys = graph.value(node.inputs[1]).type;
  const bool has_scalars = table != no_node && (graph.node(table).op == "HashTableV2" ||
                                                graph.node(table).op == "MutableHashTableV2");
  if (has_scalars && !found.opaque && !found.shape) found.shape = keys.shape;
}

}  // namespace

Status infer_types(Graph& graph, NodeId id) {
  const Result<const Library*> library = Library::get();
  if (!library || graph.node(id).domain != "tensorflow") return {};
  const Result<WrittenGraph> written = write_graph_def(make_probe(graph, with_opaque_producers(graph, id)));
  if (!written) return {};
  const std::string bytes = TRY(complete_graph(**library, as_region(*written)));
  SessionGraph probe(**library);
  if (!probe.import(bytes)) return {};
  size_t number = 0;
  for (ValueId output : graph.node(id).outputs) {
    if (output == no_value) continue;
    graph.value(output).type = TRY(read_type(**library, probe, TRY(probe.find(written->outputs[number++]))));
  }
  refine_rows(graph, graph.node(id));
  refine_lookup(graph, graph.node(id));
  return {};
}

}  // namespace intarsia::tf
