// Readers and writers of graphs, functions and signatures in TensorFlow's files. Every reader throws
// protozero::exception on malformed bytes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/attributes.h"
#include "base/shape.h"

namespace intarsia::tensorflow {

struct NodeDef {
  std::string name, op, device;
  std::vector<std::string>
      inputs;  // "node:1"; in a function "node:output:1" or an argument; "^node" only orders
  Attributes attributes;
  std::string_view bytes = {};  // the message it was read from; empty for a new node
};

/// An argument or result of an operator or function. Its type is a number, or the name of an attribute.
struct ArgDef {
  std::string name;
  int32_t type = 0;
  std::string type_attribute, number_attribute, type_list_attribute;
};

struct OpDef {
  std::string name;
  std::vector<ArgDef> inputs, outputs;
  bool is_stateful = false;  // whether it does, or depends on, more than its inputs tell
};

struct FunctionDef {
  OpDef signature;
  std::vector<NodeDef> nodes;
  std::map<std::string, std::string> returns;  // result -> "node:output:0" or an argument
  /// Nodes that run even if no result needs them, by any name.
  std::map<std::string, std::string> control_returns = {};
  std::string_view bytes = {};  // the message it was read from
};

struct GraphDef {
  std::vector<NodeDef> nodes;
  std::map<std::string, FunctionDef> functions;
  int32_t producer = 0;  // version of the graph's semantics; 0 if unknown
};

/// A tensor at a model's boundary.
struct TensorInfo {
  std::string name;  // "serving_default_image:0"
  int32_t data_type = 0;
  std::optional<SymbolicShape> shape;
  bool is_tensor = true;  // false for a sparse or composite one
};

struct SignatureDef {
  std::map<std::string, TensorInfo> inputs, outputs;
};

struct MetaGraph {
  std::vector<std::string> tags;
  std::string_view graph;
  std::map<std::string, SignatureDef> signatures;
  std::string init_op;  // node that runs when a session loads it, by the collections of old files
  std::vector<std::string> collected;  // tensors and nodes that collections name, such as parts of variables
  std::vector<std::string_view> collected_assets;  // AssetFileDefs of old files, in a collection
  std::string save_tensor;                         // result of saving the variables
  std::string restore_op;         // node that sets the variables at the end of the session loader
  std::string_view object_graph;  // a SavedObjectGraph (object_graph.h); empty in models of TensorFlow 1
};

Result<NodeDef> read_node(std::string_view bytes);
std::string write_node(const NodeDef& node, const std::map<std::string, std::string>& encoded_attributes);
Result<GraphDef> read_graph(std::string_view bytes);
Result<FunctionDef> read_function(std::string_view bytes);
/// Finds the function of a FunctionDefLibrary (its bytes) that an attribute names; nullopt if it does not
/// name exactly one, or the library lacks it.
Result<std::optional<FunctionDef>> find_function(std::string_view library, const Attributes& attributes,
                                                 const char* attribute);
/// Writes the function. Keeps the attributes, control results and statefulness that its `bytes`, if any,
/// hold.
Result<std::string> write_function(const FunctionDef& function);
OpDef read_op(std::string_view bytes);
MetaGraph read_meta_graph(std::string_view bytes);
std::vector<MetaGraph> read_saved_model(std::string_view bytes);

/// Encodes the attributes of a node as AttrValue messages.
Result<std::map<std::string, std::string>> encode_attributes(const Attributes& attributes);

}  // namespace intarsia::tensorflow
