#include "translate/translate_node.h"

#include <algorithm>
#include <map>

#include "base/protobuf.h"
#include "graph/op_table.h"
#include "graph/verify_graph.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

using Rules = std::map<std::string_view, TranslationRule>;

const Rules& tensorflow_rules() {
  static const Rules rules = [] {
    Rules all;
    for (const auto& family :
         {elementwise_translations(), contraction_translations(), window_translations(),
          normalization_translations(), reduction_translations(), movement_translations(),
          indexing_translations(), slicing_translations(), image_translations(), recurrent_translations(),
          quantization_translations(), gradient_translations(), diagonal_translations()}) {
      for (const TranslationRow& row : family) all[row.op] = row.rule;
    }
    return all;
  }();
  return rules;
}

const Rules& onnxruntime_rules() {
  static const Rules rules = [] {
    Rules all;
    for (const auto& family : {onnxruntime_translations(), onnxruntime_attention_translations(),
                               onnxruntime_fusion_translations(), grouped_attention_translations()}) {
      for (const TranslationRow& row : family) all[row.op] = row.rule;
    }
    return all;
  }();
  return rules;
}

/// Returns the rules for operators of ONNX, by domain and name.
const std::map<std::pair<std::string_view, std::string_view>, TranslationRule>& onnx_rules() {
  static const auto rules = [] {
    std::map<std::pair<std::string_view, std::string_view>, TranslationRule> all;
    for (const auto& family :
         {attention_decompositions(), loss_decompositions(), signal_decompositions(),
          machine_learning_decompositions(), support_vector_decompositions(), tree_decompositions(),
          random_decompositions(), movement_decompositions(), training_decompositions(),
          window_decompositions(), linear_attention_decompositions(), unlisted_translations()}) {
      for (const TranslationRow& row : family) all[{row.domain, row.op}] = row.rule;
    }
    return all;
  }();
  return rules;
}

TranslationRule find_rule(const Rules& rules, const std::string& op) {
  const auto at = rules.find(op);
  return at == rules.end() ? nullptr : at->second;
}

/// Returns the rule of a node; null if it has none.
TranslationRule find_rule(const Node& node) {
  if (is_tensorflow(node)) return find_rule(tensorflow_rules(), node.op);
  if (node.domain == "com.microsoft") return find_rule(onnxruntime_rules(), node.op);
  const bool is_standard = node.domain.empty() || node.domain == "ai.onnx";
  if (is_standard && node.version < oldest_known_opset) return nullptr;
  const auto at = onnx_rules().find({is_standard ? "" : node.domain, node.op});
  return at == onnx_rules().end() ? nullptr : at->second;
}

std::string_view framework_of(const Node& node) {
  if (is_tensorflow(node)) return "TensorFlow";
  return node.domain == "com.microsoft" ? "ONNX Runtime" : "ONNX";
}

Status translate_into(const Graph& from, const Node& node, Graph& to, ValueMap& values) {
  const TranslationRule rule = find_rule(node);
  const std::string_view framework = framework_of(node);
  if (rule == nullptr) return fail("{}'s {} has no translation", framework, node.op);
  if (is_tensorflow(node) && std::ranges::find(node.inputs, no_value) != node.inputs.end())
    return fail("an input is omitted");
  Translation translation(from, node, to, values);
  const size_t first_made = to.nodes.size();
  try {
    TRY(rule(translation));
  } catch (const protozero::exception& error) {
    return fail("damaged attributes ({})", error.what());
  }
  if (translation.lacks_input())
    return fail("{}'s {} with {} inputs", framework, node.op, node.inputs.size());
  for (size_t i = first_made; i < to.nodes.size(); ++i) TRY(verify_arity(to.nodes[i]));
  for (ValueId output : node.outputs) {
    if (output != no_value && !values.contains(output))
      return fail("output '{}' of {}'s {} has no translation", from.value(output).name, framework, node.op);
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

bool has_translation(const Node& node) { return is_tensorflow(node) || find_rule(node) != nullptr; }

bool is_foreign(const Node& node) { return has_translation(node) && find_op(node) == nullptr; }

namespace {

/// Copies a node and the values that it reads and makes.
void copy_into(const Graph& from, const Node& node, Graph& to, ValueMap& values) {
  const auto value_of = [&](ValueId id) {
    if (id == no_value) return no_value;
    auto [at, is_new] = values.try_emplace(id, no_value);
    if (!is_new) return at->second;
    Value copy = from.value(id);
    copy.producer = no_node;
    to.values.push_back(std::move(copy));
    return at->second = ValueId(to.values.size() - 1);
  };
  Node copy = node;
  for (ValueId& input : copy.inputs) input = value_of(input);
  for (ValueId& output : copy.outputs) output = value_of(output);
  to.add_node(std::move(copy));
}

}  // namespace

Result<Graph> translate_graph(const Graph& graph, const std::function<bool(NodeId)>& is_chosen) {
  Graph to = empty_graph(graph);
  if (!std::ranges::all_of(graph.nodes, is_tensorflow)) to.opsets = graph.opsets;
  ValueMap values;
  for (ValueId input : graph.inputs) {
    values[input] = to.add_value(graph.value(input).name, graph.value(input).type);
    to.inputs.push_back(values[input]);
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!is_chosen(NodeId(n)))
      copy_into(graph, node, to, values);
    else
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
  for (const auto& [name, rule] : tensorflow_rules()) names.push_back(name);
  return names;
}

std::vector<std::pair<std::string_view, std::string_view>> decomposed_operators() {
  std::vector<std::pair<std::string_view, std::string_view>> names;
  for (const auto& [name, rule] : onnx_rules()) names.push_back(name);
  return names;
}

}  // namespace intarsia
