#include "import/import_tensorflow.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "base/bytes.h"
#include "base/files/mapped_file.h"
#include "base/protobuf.h"
#include "base/utf8.h"
#include "graph/verify_graph.h"
#include "import/flatten_graph.h"
#include "import/recognize_recurrence.h"
#include "import/unrestored_variables.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/guarded.h"

namespace intarsia {
namespace {

using namespace tensorflow;

/// Checks for nodes without useful results, most of which exist for their effects.
bool gives_nothing(const std::string& op) {
  constexpr std::array ops{"NoOp", "Const", "Assert", "Print", "PrintV2"};
  return std::ranges::find(ops, op) != ops.end();
}

/// Finds the boundary: Placeholders are the inputs; nodes with results that nothing reads or waits for
/// (except a NoOp) are the outputs.
Result<ModelBoundary> find_boundary(const GraphDef& graph) {
  if (graph.nodes.empty()) return fail("is not a GraphDef: it has no nodes");
  std::set<std::string> read;
  for (const NodeDef& node : graph.nodes) {
    for (const std::string& input : node.inputs) {
      if (node.op != "NoOp") read.insert(parse_reference(input).node);
    }
  }
  ModelBoundary boundary;
  for (const NodeDef& node : graph.nodes) {
    if (node.op == "Placeholder") {
      std::optional<SymbolicShape> shape = get_shape(node.attributes, "shape").value_or(std::nullopt);
      boundary.inputs.push_back(
          {node.name + ":0", node.name,
           TRY(boundary_type(node.name, get_type(node.attributes, "dtype"), std::move(shape)))});
    } else if (!read.contains(node.name) && !gives_nothing(node.op)) {
      boundary.outputs.push_back({node.name + ":0", node.name, {}});
    }
  }
  if (boundary.outputs.empty()) return fail("has no outputs: every node is read by another");
  return boundary;
}

Result<Graph> import_graph_bytes(std::string_view bytes, const TensorFlowSource& source) {
  const GraphDef graph = TRY(read_graph(bytes));
  const ModelBoundary boundary = TRY(find_boundary(graph));
  return import_nodes(graph, boundary.inputs, boundary.outputs, source, {});
}

std::string saved_model_file(const std::string& folder) {
  return (std::filesystem::path(folder) / "saved_model.pb").string();
}

/// Returns the signatures for users, not those for TensorFlow itself.
std::vector<std::string> signature_names(const MetaGraph& meta) {
  std::vector<std::string> names;
  for (const auto& [name, signature] : meta.signatures) {
    if (!name.starts_with("__") && !signature.outputs.empty()) names.push_back(name);
  }
  return names;
}

Result<std::string> choose_signature(const MetaGraph& meta, const std::string& wanted) {
  const std::vector<std::string> names = signature_names(meta);
  const auto has = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  if (!wanted.empty() && has(wanted)) return wanted;
  if (wanted.empty() && has("serving_default")) return "serving_default";
  if (wanted.empty() && names.size() == 1) return names[0];
  if (names.empty())
    return fail(
        "has no signatures; export it with signatures (model.export, or signatures= of tf.saved_model.save)");
  return fail(ErrorKind::invalid_argument, "{}; it has: {}",
              wanted.empty() ? "has several signatures and none is 'serving_default': choose with --signature"
                             : fmt::format("has no signature '{}'", wanted),
              fmt::join(names, ", "));
}

Result<std::vector<BoundaryTensor>> boundary_tensors(const std::map<std::string, TensorInfo>& infos,
                                                     bool are_inputs) {
  std::vector<BoundaryTensor> tensors;
  for (const auto& [key, info] : infos) {
    TRY(check_utf8(key, are_inputs ? "input" : "output"));
    if (!info.is_tensor)
      return fail(ErrorKind::unsupported,
                  "'{}' is a sparse or composite tensor; export a signature of plain tensors", key);
    tensors.push_back(
        {info.name, key, are_inputs ? TRY(boundary_type(key, info.data_type, info.shape)) : ValueType{}});
  }
  return tensors;
}

Result<ModelBoundary> signature_boundary(const MetaGraph& meta, const std::string& name) {
  const SignatureDef& signature = meta.signatures.at(name);
  return ModelBoundary{meta.tags,
                       TRY(boundary_tensors(signature.inputs, true)),
                       TRY(boundary_tensors(signature.outputs, false)),
                       {}};
}

Result<Graph> import_signature(const MetaGraph& meta, const std::string& wanted,
                               const TensorFlowSource& source, const std::string& folder) {
  const std::string name = TRY(choose_signature(meta, wanted));
  const ModelBoundary boundary = TRY(signature_boundary(meta, name));
  const GraphDef graph = TRY(read_graph(meta.graph));
  const ReadSaved read_saved = TRY(make_saved_reader(meta, graph, source, folder));
  Graph flat = TRY(with_context(import_nodes(graph, boundary.inputs, boundary.outputs, source, read_saved),
                                "signature '{}'", name));
  flat.name = name;
  return flat;
}

}  // namespace

Result<MetaGraph> read_serving_graph(std::string_view bytes) {
  std::vector<MetaGraph> graphs = read_saved_model(bytes);
  for (MetaGraph& graph : graphs) {
    if (std::ranges::find(graph.tags, "serve") != graph.tags.end()) return std::move(graph);
  }
  if (graphs.empty()) return fail("saved_model.pb holds no graph");
  return fail(ErrorKind::unsupported, "has no graph with the tag 'serve', only '{}'",
              fmt::join(graphs[0].tags, "', '"));
}

Result<Graph> import_nodes(const GraphDef& graph, const std::vector<BoundaryTensor>& inputs,
                           const std::vector<BoundaryTensor>& outputs, const TensorFlowSource& source,
                           const ReadSaved& read_saved) {
  Graph flat = TRY(flatten_graph(graph, inputs, outputs, source, read_saved));
  flat.opsets = {{"tensorflow", 1}};
  TRY(sort_nodes(flat));
  if (TRY(recognize_recurrence(flat))) TRY(sort_nodes(flat));
  TRY(verify_graph(flat));
  return flat;
}

Result<ReadSaved> make_saved_reader(const MetaGraph& meta, const GraphDef& graph,
                                    const TensorFlowSource& source, const std::string& folder) {
  if (!source.read_saved_model)
    return fail(ErrorKind::unsupported, "its variables are read by TensorFlow, which must not be used here");
  return [&](const std::vector<std::string>& variables, const std::vector<SavedTable>& tables) {
    SavedModelFiles files{folder, meta.tags, find_unrestored_variables(meta, graph)};
    std::erase_if(files.unrestored, [&](const SavedVariable& one) {
      return std::ranges::find(variables, one.handle.name) == variables.end();
    });
    return source.read_saved_model(files, variables, tables);
  };
}

Result<ValueType> boundary_type(const std::string& name, int32_t data_type,
                                std::optional<SymbolicShape> shape) {
  ValueType type;
  type.dtype = dtype_of(data_type);
  if (type.dtype == DType::undefined)
    return fail(ErrorKind::unsupported, "'{}' is of TensorFlow's type {}, which no program takes", name,
                data_type);
  type.shape = std::move(shape);
  for (size_t axis = 0; type.shape && axis < type.shape->size(); ++axis) {
    Dim& dim = (*type.shape)[axis];
    if (!dim.is_number()) dim = Dim::named(fmt::format("{}_dim{}", name, axis));
  }
  return type;
}

Result<Graph> import_graph_def_bytes(std::string_view bytes, const TensorFlowSource& source) {
  return guarded("GraphDef", [&] { return import_graph_bytes(bytes, source); });
}

Result<Graph> import_graph_def(const std::string& path, const TensorFlowSource& source) {
  const MappedFile file = TRY(map_file(path));
  return import_graph_def_bytes(as_text(file.bytes), source);
}

Result<Graph> import_saved_model_bytes(std::string_view bytes, const std::string& signature,
                                       const TensorFlowSource& source, const std::string& folder) {
  return guarded("SavedModel", [&]() -> Result<Graph> {
    return import_signature(TRY(read_serving_graph(bytes)), signature, source, folder);
  });
}

Result<Graph> import_saved_model(const std::string& folder, const std::string& signature,
                                 const TensorFlowSource& source) {
  const MappedFile file = TRY(map_file(saved_model_file(folder)));
  return import_saved_model_bytes(as_text(file.bytes), signature, source, folder);
}

Result<ModelBoundary> read_graph_def_boundary(const std::string& path) {
  const MappedFile file = TRY(map_file(path));
  return guarded("GraphDef", [&]() -> Result<ModelBoundary> {
    return find_boundary(TRY(read_graph(as_text(file.bytes))));
  });
}

Result<ModelBoundary> read_saved_model_boundary(const std::string& folder, const std::string& signature) {
  const MappedFile file = TRY(map_file(saved_model_file(folder)));
  return guarded("SavedModel", [&]() -> Result<ModelBoundary> {
    const MetaGraph meta = TRY(read_serving_graph(as_text(file.bytes)));
    ModelBoundary boundary = TRY(signature_boundary(meta, TRY(choose_signature(meta, signature))));
    boundary.unrestored = find_unrestored_variables(meta, TRY(read_graph(meta.graph)));
    return boundary;
  });
}

Result<std::vector<std::string>> list_signatures(const std::string& folder) {
  const MappedFile file = TRY(map_file(saved_model_file(folder)));
  return guarded("SavedModel", [&]() -> Result<std::vector<std::string>> {
    return signature_names(TRY(read_serving_graph(as_text(file.bytes))));
  });
}

}  // namespace intarsia
