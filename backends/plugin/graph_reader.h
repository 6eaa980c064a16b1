// A graph as plug-ins read it: C structs and functions over ours.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "include/intarsia/plugin.h"

namespace intarsia::plugin {

/// Reader of a graph, which must outlive it. What it has given stays valid while it lives. Only one thread
/// may use it.
class GraphReader {
 public:
  explicit GraphReader(const Graph& graph);
  GraphReader(const GraphReader&) = delete;
  GraphReader& operator=(const GraphReader&) = delete;

  const intarsia_plugin_graph* get() const { return &view_; }

 private:
  struct NodeNumbers {
    std::vector<size_t> inputs, outputs;
  };
  struct ValueSizes {
    std::vector<int64_t> sizes;
    std::vector<std::string> texts;
    std::vector<const char*> pointers;
  };

  static int32_t read_node(const intarsia_plugin_graph* graph, size_t node, intarsia_plugin_node* to);
  static int32_t read_attribute(const intarsia_plugin_graph* graph, size_t node, size_t attribute,
                                intarsia_plugin_attribute* to);
  static int32_t read_value(const intarsia_plugin_graph* graph, size_t value, intarsia_plugin_value* to);
  static int32_t read_onnx(const intarsia_plugin_graph* graph, const void** bytes, size_t* size,
                           const intarsia_plugin_message* message);

  const NodeNumbers& numbers_of(size_t node);
  const ValueSizes& sizes_of(size_t value);
  intarsia_plugin_node describe_node(size_t number);
  intarsia_plugin_attribute describe_attribute(size_t node, size_t number);
  intarsia_plugin_value describe_value(size_t number);

  const Graph& graph_;
  std::vector<size_t> inputs_, outputs_;
  std::map<size_t, NodeNumbers> numbers_;
  std::map<size_t, ValueSizes> sizes_;
  std::map<std::pair<size_t, size_t>, std::vector<const char*>> strings_;  // indexed by node and attribute
  std::optional<std::string> onnx_;
  intarsia_plugin_graph view_{};
};

}  // namespace intarsia::plugin
