// Names of TensorFlow's tensors, and which nodes a tensor needs, in the model's own graph or in the body of a
// function.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "tensorflow/saved_model_source.h"

namespace intarsia {

/// Where names are resolved.
struct NameScope {
  const std::vector<tensorflow::NodeDef>& nodes;
  bool in_function = false;
  std::string prefix;  // of nodes whose plain name is taken
  int depth = 0;
  std::unordered_map<std::string, ValueId> values = {};  // "node:1" or an argument
  std::unordered_map<std::string, NodeId> made = {};     // nodes of the graph, by their name in this scope
  std::unordered_map<std::string_view, size_t> by_name = {};
};

/// Fills by_name; fails when two nodes share a name.
Status index_nodes(NameScope& scope);

/// "node" -> "node:0".
std::string canonical_reference(const std::string& reference);

inline constexpr int max_outputs_of_a_node = 1 << 16;

/// Turns references in a function's body, which name an operator's outputs, into numbers.
class ReferenceResolver {
 public:
  ReferenceResolver(const std::map<std::string, tensorflow::FunctionDef>& functions,
                    const TensorFlowSource& source)
      : functions_(functions), source_(source) {}

  /// "node:output:1" of a function's body -> "node:3", counted over all outputs of the node. An argument is
  /// itself.
  Result<std::string> resolve(const NameScope& scope, const std::string& reference) const;

 private:
  Result<int> first_output(const tensorflow::NodeDef& node, const std::string& output) const;

  const std::map<std::string, tensorflow::FunctionDef>& functions_;
  const TensorFlowSource& source_;
};

/// What wanted tensors depend on; one entry per node of the scope.
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
/// The needed nodes, each after what it reads. Fails when they form a cycle outside of a group.
Result<std::vector<NodeUnit>> order_nodes(const NameScope& scope, const NeededNodes& needed);

}  // namespace intarsia
