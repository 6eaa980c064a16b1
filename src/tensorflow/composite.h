// A graph node that stands for several NodeDefs: attribute `_nodes` holds them as a GraphDef, in which "@2"
// is the node's input 2; `_outputs` lists the tensors ("while/Exit:0") that are its outputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensorflow/messages.h"

namespace intarsia::tensorflow {

inline constexpr char nodes_attribute[] = "_nodes", outputs_attribute[] = "_outputs";
/// Functions that a node calls, directly or through others: a FunctionDefLibrary.
inline constexpr char library_attribute[] = "_library";
/// Contents of a lookup table.
inline constexpr char keys_attribute[] = "_keys", values_attribute[] = "_values";

struct Composite {
  std::vector<NodeDef> nodes;
  std::vector<std::string> outputs;
};

Status set_composite(Attributes& attributes, const Composite& composite);
/// Returns the NodeDefs; nullopt if the node is an ordinary one. Throws protozero::exception on malformed
/// bytes.
Result<std::optional<Composite>> get_composite(const Attributes& attributes);

/// Parses the number of an input: "@2" -> 2.
std::optional<size_t> input_number(const std::string& reference);

/// Parsed reference: "node:1" -> {node, 1}; "node" -> {node, 0}; "^node" -> {node, -1}, which only orders.
struct TensorReference {
  std::string node;
  int output = 0;
};
TensorReference parse_reference(const std::string& text);

}  // namespace intarsia::tensorflow
