#include "graph/print_graph.h"

#include "graph/tensor_digest.h"
#include "graph/text_words.h"

namespace intarsia {
namespace {

std::string print_content(const Tensor& tensor, const PrintOptions& options) {
  if (element_count(tensor.shape()) <= options.inline_elements) return print_elements(tensor.view());
  return fmt::format("xxh3:{:016x}", digest_tensor(tensor.view()));
}

/// Prints a list as "[1,2]"; an empty one shows its type: "ints[]".
template <typename List, typename Print>
std::string print_attribute_list(const List& list, const char* type, Print print) {
  if (list.empty()) return std::string(type) + "[]";
  std::string text;
  for (const auto& element : list) text += (text.empty() ? "[" : ",") + print(element);
  return text + "]";
}

struct AttributePrinter {
  const PrintOptions& options;

  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return print_float(value); }
  std::string operator()(const std::string& value) const { return print_quoted(value); }
  std::string operator()(const std::vector<int64_t>& list) const {
    return print_attribute_list(list, "ints", [](int64_t value) { return std::to_string(value); });
  }
  std::string operator()(const std::vector<float>& list) const {
    return print_attribute_list(list, "floats", [](float value) { return print_float(value); });
  }
  std::string operator()(const std::vector<std::string>& list) const {
    return print_attribute_list(list, "strings",
                                [](const std::string& value) { return print_quoted(value); });
  }
  std::string operator()(const Tensor& tensor) const {
    return print_full_type({tensor.dtype(), to_symbolic(tensor.shape()), false, {}}) +
           print_content(tensor, options);
  }
  std::string operator()(const EncodedAttribute& encoded) const {
    return "encoded<" + print_hex(encoded.bytes) + ">";
  }
};

std::string print_typed(const Value& value) {
  if (value.type == ValueType{}) return print_value_name(value.name);
  return print_value_name(value.name) + " : " + print_full_type(value.type);
}

std::string print_operator(const Graph& graph, const Node& node) {
  std::string text = node.domain.empty() ? "" : print_domain(node.domain) + "::";
  text += print_word(node.op);
  auto declared = graph.opsets.find(node.domain);
  if (declared == graph.opsets.end() || declared->second != node.version)
    text += fmt::format(".{}", node.version);
  return text;
}

std::string print_names(const Graph& graph, const std::vector<ValueId>& ids) {
  std::string text;
  for (ValueId id : ids) {
    if (!text.empty()) text += ", ";
    text += id == no_value ? "_" : print_value_name(graph.value(id).name);
  }
  return "(" + text + ")";
}

std::string print_outputs(const Graph& graph, const Node& node) {
  if (node.outputs.empty()) return "()";
  std::string text;
  for (ValueId id : node.outputs) {
    if (!text.empty()) text += ", ";
    text += id == no_value ? "_" : print_typed(graph.value(id));
  }
  return text;
}

bool is_default_name(const Graph& graph, const Node& node) {
  return has_output(node, 0) ? node.name == graph.value(node.outputs[0]).name : node.name.empty();
}

std::string print_header(const Graph& graph) {
  std::string opsets;
  for (const auto& [domain, version] : graph.opsets) {
    opsets += (opsets.empty() ? "" : ", ") + print_quoted(domain) + fmt::format(": {}", version);
  }
  return "graph " + print_quoted(graph.name) + " opsets {" + opsets + "}\n";
}

}  // namespace

std::string print_node(const Graph& graph, NodeId id, const PrintOptions& options) {
  const Node& node = graph.node(id);
  std::string text =
      print_outputs(graph, node) + " = " + print_operator(graph, node) + print_names(graph, node.inputs);
  if (!node.captures.empty()) text += " captures" + print_names(graph, node.captures);
  std::string attributes;
  for (const auto& [name, value] : node.attributes) {
    attributes += (attributes.empty() ? "" : ", ") + print_word(name) + "=" +
                  std::visit(AttributePrinter{options}, value);
  }
  if (!attributes.empty()) text += " {" + attributes + "}";
  if (!is_default_name(graph, node)) text += " " + print_quoted(node.name);
  return text;
}

std::string print_graph(const Graph& graph, const PrintOptions& options) {
  std::string text = print_header(graph);
  std::vector<bool> is_input(graph.values.size(), false);
  for (ValueId id : graph.inputs) {
    is_input[index(id)] = true;
    text += "input " + print_typed(graph.value(id)) + "\n";
  }
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.constant)
      text += "const " + print_typed(value) + " = " + print_content(*value.constant, options) + "\n";
    else if (value.producer == no_node && !is_input[i])
      text += "value " + print_typed(value) + "\n";
  }
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) text += print_node(graph, NodeId{i}, options) + "\n";
  for (ValueId id : graph.outputs) text += "output " + print_value_name(graph.value(id).name) + "\n";
  return text;
}

}  // namespace intarsia
