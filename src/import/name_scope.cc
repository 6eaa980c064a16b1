#include "import/name_scope.h"

#include <queue>
#include <set>

#include "import/control_flow_groups.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"

namespace intarsia {

using namespace tensorflow;

Status index_nodes(NameScope& scope) {
  for (size_t i = 0; i < scope.nodes.size(); ++i) {
    if (!scope.by_name.emplace(scope.nodes[i].name, i).second)
      return fail("two nodes are named '{}'", scope.nodes[i].name);
  }
  return {};
}

std::string canonical_reference(const std::string& reference) {
  const TensorReference tensor = parse_reference(reference);
  return fmt::format("{}:{}", tensor.node, tensor.output);
}

Result<std::string> ReferenceResolver::resolve(const NameScope& scope, const std::string& reference) const {
  if (!scope.in_function) return canonical_reference(reference);
  const size_t first = reference.find(':');
  if (first == std::string::npos) return reference;  // an argument
  const size_t second = reference.find(':', first + 1);
  if (second == std::string::npos) return canonical_reference(reference);
  const std::string name = reference.substr(0, first),
                    output = reference.substr(first + 1, second - first - 1);
  const auto at = scope.by_name.find(name);
  if (at == scope.by_name.end()) return fail("reads '{}', which nothing produces", reference);
  const int start = TRY(first_output(scope.nodes[at->second], output));
  return fmt::format("{}:{}", name, start + parse_reference(reference).output);
}

/// Returns the number of the first of the tensors that the operator calls `output`.
Result<int> ReferenceResolver::first_output(const NodeDef& node, const std::string& output) const {
  const auto function = functions_.find(node.op);
  const OpDef* op = function != functions_.end() ? &function->second.signature : nullptr;
  if (op == nullptr && source_.find_op) op = TRY(source_.find_op(node.op));
  if (op == nullptr)
    return fail(
        "node '{}': TensorFlow has no operator {}; if it is a custom operator, give its library with "
        "--op-library",
        node.name, node.op);
  int64_t number = 0;
  for (const ArgDef& argument : op->outputs) {
    if (argument.name == output) return static_cast<int>(number);
    if (!argument.number_attribute.empty())
      number += node.attributes.get_int(argument.number_attribute, 0);
    else if (!argument.type_list_attribute.empty())
      number += static_cast<int64_t>(get_types(node.attributes, argument.type_list_attribute).size());
    else
      ++number;
    if (number < 0 || number > max_outputs_of_a_node) break;
  }
  return fail("node '{}' ({}) has no output '{}'", node.name, node.op, output);
}

Result<NeededNodes> find_needed_nodes(const NameScope& scope, const std::vector<std::string>& wanted,
                                      const ReferenceResolver& resolver) {
  NeededNodes needed{std::vector<bool>(scope.nodes.size(), false),
                     std::vector<std::vector<std::string>>(scope.nodes.size())};
  std::vector<std::string> open = wanted;
  while (!open.empty()) {
    const std::string reference = std::move(open.back());
    open.pop_back();
    if (scope.values.contains(reference)) continue;
    const auto at = scope.by_name.find(parse_reference(reference).node);
    if (at == scope.by_name.end()) return fail("reads '{}', which nothing produces", reference);
    const NodeDef& node = scope.nodes[at->second];
    if (needed.is_needed[at->second]) continue;
    needed.is_needed[at->second] = true;
    for (const std::string& input : node.inputs) {
      if (input.starts_with('^')) continue;
      needed.inputs[at->second].push_back(
          TRY(with_context(resolver.resolve(scope, input), "node '{}'", node.name)));
      open.push_back(needed.inputs[at->second].back());
    }
  }
  return needed;
}

Result<std::vector<NodeUnit>> order_nodes(const NameScope& scope, const NeededNodes& needed) {
  const size_t count = scope.nodes.size();
  std::vector<std::vector<size_t>> groups;
  if (!scope.in_function) groups = find_control_flow_groups(scope.nodes, needed.is_needed);
  std::vector<size_t> unit(count);  // number of a node, or count + that of a group
  for (size_t i = 0; i < count; ++i) unit[i] = i;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t member : groups[g]) unit[member] = count + g;
  }
  std::vector<std::set<size_t>> next(count + groups.size());
  std::vector<size_t> missing(count + groups.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    for (const std::string& input : needed.inputs[i]) {
      if (scope.values.contains(input)) continue;
      const size_t from = unit[scope.by_name.at(parse_reference(input).node)];
      if (from != unit[i] && next[from].insert(unit[i]).second) ++missing[unit[i]];
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  std::set<size_t> units;
  for (size_t i = 0; i < count; ++i) {
    if (needed.is_needed[i] && units.insert(unit[i]).second && missing[unit[i]] == 0) ready.push(unit[i]);
  }
  std::vector<NodeUnit> order;
  while (!ready.empty()) {
    const size_t at = ready.top();
    ready.pop();
    order.push_back(at >= count ? NodeUnit{groups[at - count], true} : NodeUnit{{at}, false});
    for (size_t reader : next[at]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() != units.size()) return fail("its nodes form a cycle");
  return order;
}

}  // namespace intarsia
