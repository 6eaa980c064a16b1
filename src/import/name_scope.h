// Resolving names of TensorFlow's tensors, and finding the nodes that a tensor needs, in the model's own
// graph or in the body of a function.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "tensorflow/saved_model_source.h"

namespace intarsia {

/// Scope that names are resolved in.
struct NameScope {
  const std::vector<tensorflow::NodeDef>& nodes;
  bool in_function = false;
  std::string prefix;  // prefix of nodes whose plain name is taken
  int depth = 0;
  std::unordered_map<std::string, ValueId> values = {};  // keyed by reference: "node:1" or an argument
  std::unordered_map<std::string, NodeId> made = {};     // nodes of the graph by their name in this scope
  std::unordered_map<std::string_view, size_t> by_name = {};
};

/// Fills by_name; fails if two nodes share a name.
Status index_nodes(NameScope& scope);

/// Returns the reference with its output number: "node" -> "node:0".
std::string canonical_reference(const std::string& reference);

inline constexpr int max_outputs_of_a_node = 1 << 16;

/// Resolver of references in a function's body, which name an operator's outputs, into numbers.
class ReferenceResolver {
 public:
  ReferenceResolver(const std::map<std::string, tensorflow::FunctionDef>& functions,
                    const TensorFlowSource& source)
      : functions_(functions), source_(source) {}

  /// Resolves "node:output:1" of a function's body -> "node:3", counted over all outputs of the node. An
  /// argument stays.
  Result<std::string> resolve(const NameScope& scope, const std::string& reference) const;

 private:
  Result<int> first_output(const tensorflow::NodeDef& node, const std::string& output) const;

  const std::map<std::string, tensorflow::FunctionDef>& functions_;
  const TensorFlowSource& source_;
};

/// Nodes that wanted tensors depend on; one entry per node of the scope.
struct NeededNodes {
  std::vector<bool> is_needed;
  std::vector<std::vector<std::string>> inputs;  // resolved, without control edges
};
Result<NeededNodes> find_needed_nodes(const NameScope& scope, const std::vector<std::string>& wanted,
                                      const ReferenceResolver& resolver);

/// A node, or the nodes of a control flow group.
struct NodeUnit {
  std::vector<size_t> nodes;
  bool is_group = false;
};
/// Orders the needed nodes, each after what it reads. Fails if they form a cycle outside of a group.
Result<std::vector<NodeUnit>> order_nodes(const NameScope& scope, const NeededNodes& needed);

}  // namespace intarsia
