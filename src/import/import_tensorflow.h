// Import of TensorFlow's files into a Graph of TensorFlow's own operators (domain "tensorflow"), one node per
// NodeDef, so that any set of nodes can be handed back to TensorFlow. translate/translate_node.h translates
// them to our operators.
//
// Calls of functions are inlined; variables become constants of their saved values (the model is frozen);
// Identity nodes and nodes that exist for their side effects on logs (Assert, Print) are dropped. Three kinds
// of nodes stand for several NodeDefs: loops of TensorFlow 1 (op "ControlFlow"), and the loops of Keras' LSTM
// and GRU (ops "LSTM", "GRU"); tensorflow/composite.h describes their attributes. A lookup table carries its
// contents (`_keys`, `_values`); While, If and other nodes that call functions carry those (`_library`).
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "import/flatten_graph.h"
#include "tensorflow/saved_model_source.h"

namespace intarsia {

/// Imports a frozen GraphDef: its Placeholders are the inputs, nodes that nothing reads are the outputs
/// (named like their nodes).
Result<Graph> import_graph_def(const std::string& path, const TensorFlowSource& source);
Result<Graph> import_graph_def_bytes(std::string_view bytes, const TensorFlowSource& source);

/// Imports one signature of a SavedModel; inputs and outputs are named by its keys. An empty name means
/// "serving_default", or the only one. Errors: no such signature, damaged files, a model that changes
/// variables or tables at run time.
Result<Graph> import_saved_model(const std::string& folder, const std::string& signature,
                                 const TensorFlowSource& source);

/// Imports from the bytes of a saved_model.pb; `source` reads variables and tables from `folder`.
Result<Graph> import_saved_model_bytes(std::string_view bytes, const std::string& signature,
                                       const TensorFlowSource& source, const std::string& folder);

/// Imports the nodes that the outputs need, as the functions above do.
Result<Graph> import_nodes(const tensorflow::GraphDef& graph, const std::vector<BoundaryTensor>& inputs,
                           const std::vector<BoundaryTensor>& outputs, const TensorFlowSource& source,
                           const ReadSaved& read_saved);

/// Returns the type of an input of this DataType. Unknown sizes get their own names: "image_dim0".
Result<ValueType> boundary_type(const std::string& name, int32_t data_type,
                                std::optional<SymbolicShape> shape);

/// Returns the graph for serving of a saved_model.pb. Throws protozero::exception on malformed bytes.
Result<tensorflow::MetaGraph> read_serving_graph(std::string_view bytes);

/// Returns a reader of the model's variables and tables. Refers to its arguments, which outlive it.
Result<ReadSaved> make_saved_reader(const tensorflow::MetaGraph& meta, const tensorflow::GraphDef& graph,
                                    const TensorFlowSource& source, const std::string& folder);

/// Boundary of a model under its users' and its graph's names; tags are those of a SavedModel's serving
/// graph.
struct ModelBoundary {
  std::vector<std::string> tags;
  std::vector<BoundaryTensor> inputs, outputs;
  std::vector<SavedVariable> unrestored;  // variables of a SavedModel, for any signature
};
Result<ModelBoundary> read_graph_def_boundary(const std::string& path);
Result<ModelBoundary> read_saved_model_boundary(const std::string& folder, const std::string& signature);

/// Returns the names of the signatures that can be called.
Result<std::vector<std::string>> list_signatures(const std::string& folder);

}  // namespace intarsia
