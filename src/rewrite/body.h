// Body of a SavedModel that is rewritten: that of a function, or the model's own graph.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "import/name_scope.h"
#include "tensorflow/messages.h"

namespace intarsia {

/// Argument of a function.
struct BodyArgument {
  std::string name;
  std::string key;  // its name to the model's users; `name` where they have none for it
  int32_t data_type = 0;
  std::optional<SymbolicShape> shape;
  std::string captured;  // tensor "node:0" of the model's own graph that it always is; empty for others
};

/// Call of a function whose nodes stand in its place.
struct InlinedCallName {
  std::string own_name;  // as in BodyNode
  std::string name;      // in the body
};

struct BodyNode {
  /// Node with its name and inputs in the body. Inputs are written as in TensorFlow's files: "node:output:1"
  /// or an argument in a function, "node:1" in the model's own graph.
  tensorflow::NodeDef def;
  /// Inputs but those that only order, each "node:1" with a number counted over all outputs, or an argument.
  std::vector<std::string> sources;
  std::string own_name = {};                // in the model's file
  std::vector<InlinedCallName> calls = {};  // that it was part of, the outermost first
};

/// Tensor that a body returns.
struct BodyReturn {
  std::string name;    // of the function's result, or the tensor of the model's own graph
  std::string text;    // written as an input of a node
  std::string source;  // as BodyNode::sources
};

struct Body {
  std::string function;  // empty for the model's own graph
  std::vector<BodyArgument> arguments;
  std::vector<BodyNode> nodes;
  std::vector<BodyReturn> returns;
  std::map<std::string, std::string> control_returns;  // as FunctionDef::control_returns
  std::set<std::string> kept =
      {};  // nodes that stay though nothing reads them, as the file names them elsewhere

  bool is_function() const { return !function.empty(); }
  /// Returns the number of each node by its name.
  std::map<std::string, size_t> index() const;
  /// Returns all names that a new node cannot have.
  std::set<std::string> names() const;
  /// Returns the nodes that run: those that returned tensors need, or wait for.
  std::set<std::string> find_needed() const;
};

/// Returns the name of the node that an input or a source refers to; an argument's own name.
std::string node_of(const std::string& reference);
inline bool is_control(const std::string& input) { return input.starts_with('^'); }

/// Functions that nodes of a body call.
struct CalledFunctions {
  const std::map<std::string, tensorflow::FunctionDef>& functions;
  const std::set<std::string>& whole;  // functions whose calls stay nodes
  const TensorFlowSource& source;
};

/// Makes the body of a function, with calls of functions inlined (inline_calls.h). Nothing is known about
/// where its arguments come from.
Result<Body> make_function_body(const tensorflow::FunctionDef& function, const CalledFunctions& called);

/// Makes the body of the model's own graph, which returns `returned`: tensors "node:0".
Result<Body> make_graph_body(const tensorflow::GraphDef& graph, const std::vector<std::string>& returned,
                             const CalledFunctions& called);

/// Fills the sources of nodes and returns.
Status resolve_sources(Body& body, const ReferenceResolver& resolver);

/// Returns the serialized node: all that its `bytes` hold, with its name and inputs, and the attributes of
/// these names as they are now, if they are there. Wishes to lie on the device of another node, which may be
/// gone, are left out.
Result<std::string> write_body_node(const tensorflow::NodeDef& node,
                                    const std::set<std::string>& changed = {});

}  // namespace intarsia
