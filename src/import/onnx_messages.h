// ONNX messages split into their fields, uninterpreted. Every reader throws protozero::exception on malformed
// bytes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace intarsia::onnx {

struct RawNode {
  std::string name, op, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string_view> attributes;
};

struct RawGraph {
  std::string name;
  std::vector<std::string_view> nodes, initializers, sparse_initializers, inputs, outputs, value_infos;
};

struct RawFunction {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string_view> nodes;
  std::map<std::string, std::string_view> default_attributes;
  std::map<std::string, int> opsets;
};

struct RawModel {
  int64_t ir_version = 0;
  std::map<std::string, int> opsets;
  std::string_view graph;
  bool has_graph = false;
  std::vector<std::string_view> functions;
};

RawModel read_model(std::string_view bytes);
RawGraph read_graph(std::string_view bytes);
RawNode read_node(std::string_view bytes);
RawFunction read_function(std::string_view bytes);

/// Reads a StringStringEntryProto: key and value.
std::pair<std::string, std::string> read_string_entry(std::string_view bytes);

struct NamedType {
  std::string name;
  ValueType type;
  bool has_negative_size = false;
};
/// Reads a ValueInfoProto. Sizes without a number or name are unknown.
NamedType read_value_info(std::string_view bytes);

}  // namespace intarsia::onnx
