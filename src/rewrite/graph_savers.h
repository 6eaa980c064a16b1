// Nodes of a graph of TensorFlow 1 that save (SaveV2) and restore (RestoreV2) tensors of its variables.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tensorflow/messages.h"

namespace intarsia {

/// Readers of each node of a graph.
class GraphReaders {
 public:
  /// Refers to the graph, which outlives it.
  explicit GraphReaders(const tensorflow::GraphDef& graph);

  /// Returns the node that a reference names; null if there is none.
  const tensorflow::NodeDef* find(const std::string& reference) const;
  /// Returns the nodes that read an output of the node.
  const std::vector<const tensorflow::NodeDef*>& of_data(const std::string& node) const;
  /// Returns these and those that wait for it.
  const std::vector<const tensorflow::NodeDef*>& of(const std::string& node) const;
  /// Returns the nodes, by name, that these ones need or wait for, and they themselves.
  std::set<std::string> needed_by(const std::set<std::string>& nodes) const;

 private:
  std::map<std::string, const tensorflow::NodeDef*> nodes_;
  std::map<std::string, std::vector<const tensorflow::NodeDef*>> data_, all_;
};

/// Tensor that a node saves or restores.
struct SavedEntry {
  std::string key;
  int32_t data_type = 0;
  bool is_whole = true;  // not a slice of a larger tensor
  std::string handle;    // node of its variable; empty for what has none
};

/// SaveV2 or RestoreV2.
struct GraphSaver {
  const tensorflow::NodeDef* node;
  const tensorflow::NodeDef *keys, *slices;  // constants with the lists of names
  std::vector<SavedEntry> entries;

  bool saves() const { return node->op == "SaveV2"; }
};

/// Finds all of a graph; none if one is of another form than TensorFlow's own.
std::vector<GraphSaver> find_graph_savers(const tensorflow::GraphDef& graph, const GraphReaders& readers);

}  // namespace intarsia
