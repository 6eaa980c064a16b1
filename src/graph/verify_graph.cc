#include "graph/verify_graph.h"

#include <unordered_set>

#include "graph/element_rules.h"
#include "graph/op_table.h"

namespace intarsia {
namespace {

Status verify_ids(const Graph& graph, const std::vector<ValueId>& ids, const std::string& where,
                  bool optional) {
  for (ValueId id : ids) {
    if (id == no_value && optional) continue;
    if (index(id) >= graph.values.size())
      return fail("{} refers to value {} of {}", where, index(id), graph.values.size());
  }
  return {};
}

}  // namespace

Status verify_arity(const Node& node) {
  const OpInfo* info = find_op(node);
  if (info == nullptr) return {};
  const int inputs = static_cast<int>(node.inputs.size());
  const int outputs = static_cast<int>(node.outputs.size());
  if (inputs < info->min_inputs || (info->max_inputs >= 0 && inputs > info->max_inputs)) {
    return fail("node '{}' ({}) has {} inputs, the operator takes {} to {}", node.name, node.op, inputs,
                info->min_inputs, info->max_inputs);
  }
  if (outputs < info->min_outputs || (info->max_outputs >= 0 && outputs > info->max_outputs)) {
    return fail("node '{}' ({}) has {} outputs, the operator gives {} to {}", node.name, node.op, outputs,
                info->min_outputs, info->max_outputs);
  }
  for (int i = 0; i < info->min_inputs; ++i) {
    if (!has_input(node, static_cast<size_t>(i)))
      return fail("node '{}' ({}) omits its input {}", node.name, node.op, i);
  }
  return {};
}

namespace {

/// Checks that producers agree with outputs, and that values are computed before nodes read them.
Status verify_order(const Graph& graph) {
  std::vector<bool> made(graph.values.size(), false);
  for (size_t i = 0; i < graph.values.size(); ++i) made[i] = graph.values[i].producer == no_node;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const std::string where = fmt::format("node '{}' ({})", node.name, node.op);
    TRY(verify_ids(graph, node.inputs, where, true));
    TRY(verify_ids(graph, node.captures, where, false));
    TRY(verify_ids(graph, node.outputs, where, true));
    for (ValueId read : values_read(node)) {
      if (!made[index(read)])
        return fail("{} reads '{}' before it is computed", where, graph.value(read).name);
    }
    for (ValueId output : node.outputs) {
      if (output == no_value) continue;
      if (graph.value(output).producer != NodeId{i} || made[index(output)])
        return fail("{} and another both produce '{}'", where, graph.value(output).name);
      made[index(output)] = true;
    }
    TRY(verify_arity(node));
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i]) return fail("value '{}' names a producer that does not produce it", graph.values[i].name);
  }
  return {};
}

Status verify_elements(const Value& value) {
  const auto& elements = value.type.elements;
  if (!elements || can_have_elements(value.type, elements->size())) return {};
  return fail("value '{}' of type {} cannot have {} elements that are sizes", value.name,
              print_type(value.type), elements->size());
}

Status verify_values(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const Value& value : graph.values) {
    if (!names.insert(value.name).second) return fail("two values are named '{}'", value.name);
    TRY(verify_elements(value));
    if (!value.constant) continue;
    if (value.producer != no_node) return fail("constant '{}' has a producer", value.name);
    if (value.type.dtype != value.constant->dtype() || value.type.fixed_shape() != value.constant->shape()) {
      return fail("constant '{}' is not of its own type {}", value.name, print_type(value.type));
    }
  }
  return {};
}

}  // namespace

Status verify_graph(const Graph& graph) {
  TRY(verify_values(graph));
  TRY(verify_ids(graph, graph.inputs, "the input list", false));
  TRY(verify_ids(graph, graph.outputs, "the output list", false));
  std::vector<bool> is_input(graph.values.size(), false);
  for (ValueId input : graph.inputs) {
    const Value& value = graph.value(input);
    if (value.constant || value.producer != no_node)
      return fail("input '{}' is also produced inside", value.name);
    if (is_input[index(input)]) return fail("input '{}' is listed twice", value.name);
    is_input[index(input)] = true;
  }
  return verify_order(graph);
}

}  // namespace intarsia
