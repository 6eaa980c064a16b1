#include "translate/translate_node.h"

#include <algorithm>
#include <map>

#include "base/protobuf.h"
#include "graph/verify_graph.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

const std::map<std::string_view, TranslationRule>& all_rules() {
  static const std::map<std::string_view, TranslationRule> rules = [] {
    std::map<std::string_view, TranslationRule> all;
    for (const auto& family :
         {elementwise_translations(), contraction_translations(), window_translations(),
          normalization_translations(), reduction_translations(), movement_translations(),
          indexing_translations(), slicing_translations(), image_translations(), recurrent_translations()}) {
      for (const TranslationRow& row : family) all[row.op] = row.rule;
    }
    return all;
  }();
  return rules;
}

Status translate_into(const Graph& from, const Node& node, Graph& to, ValueMap& values) {
  const auto rule = all_rules().find(node.op);
  if (rule == all_rules().end()) return fail("TensorFlow's {} has no translation", node.op);
  if (std::ranges::find(node.inputs, no_value) != node.inputs.end()) return fail("an input is omitted");
  Translation translation(from, node, to, values);
  const size_t first_made = to.nodes.size();
  try {
    TRY(rule->second(translation));
  } catch (const protozero::exception& error) {
    return fail("damaged attributes ({})", error.what());
  }
  if (translation.lacks_input()) return fail("TensorFlow's {} with {} inputs", node.op, node.inputs.size());
  for (size_t i = first_made; i < to.nodes.size(); ++i) TRY(verify_arity(to.nodes[i]));
  for (ValueId output : node.outputs) {
    if (output != no_value && !values.contains(output))
      return fail("output '{}' of TensorFlow's {} has no translation", from.value(output).name, node.op);
  }
  return {};
}

/// Makes an output of the new graph, which one of its nodes must produce, once, under the source's name.
ValueId make_output(Graph& to, ValueId value, const std::string& name) {
  const bool needs_copy =
      to.value(value).producer == no_node || std::ranges::find(to.outputs, value) != to.outputs.end();
  if (needs_copy) {
    if (to.value(value).name == name)
      to.value(value).name += "/source";  // a constant that is an output and is also read inside
    Node copy{name, "Identity", "", translated_opset, {value}, {to.add_value(name)}, {}, {}};
    value = copy.outputs[0];
    to.add_node(std::move(copy));
  }
  to.value(value).name = name;
  return value;
}

Graph empty_graph(const Graph& from) {
  Graph to;
  to.name = from.name;
  to.opsets = {{"", translated_opset}};
  return to;
}

}  // namespace

bool is_tensorflow(const Node& node) { return node.domain == "tensorflow"; }

Result<Graph> translate_node(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Graph to = empty_graph(graph);
  ValueMap values;
  TRY(translate_into(graph, node, to, values));
  for (ValueId output : node.outputs) {
    if (output != no_value)
      to.outputs.push_back(make_output(to, values.at(output), graph.value(output).name));
  }
  return to;
}

Result<Graph> translate_graph(const Graph& graph) {
  Graph to = empty_graph(graph);
  ValueMap values;
  for (ValueId input : graph.inputs) {
    values[input] = to.add_value(graph.value(input).name, graph.value(input).type);
    to.inputs.push_back(values[input]);
  }
  for (const Node& node : graph.nodes) {
    if (!is_tensorflow(node)) return fail("node '{}' ({}) is not a TensorFlow operator", node.name, node.op);
    TRY(with_context(translate_into(graph, node, to, values), "node '{}' ({})", node.name, node.op));
  }
  for (ValueId output : graph.outputs) {
    const Value& value = graph.value(output);
    if (auto at = values.find(output); at == values.end()) {
      if (!value.constant) return fail("no node produces output '{}'", value.name);
      values[output] = to.add_constant(value.name + "/constant", *value.constant);
    }
    to.outputs.push_back(make_output(to, values.at(output), value.name));
  }
  return to;
}

std::vector<std::string_view> translated_operators() {
  std::vector<std::string_view> names;
  for (const auto& [name, rule] : all_rules()) names.push_back(name);
  return names;
}

}  // namespace intarsia
