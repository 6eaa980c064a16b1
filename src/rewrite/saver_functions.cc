#include "rewrite/saver_functions.h"

#include <algorithm>

#include "import/operator_roles.h"
#include "rewrite/body.h"
#include "rewrite/saver_lists.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"

namespace intarsia {

using namespace tensorflow;

namespace {

/// Removes the nodes that these nodes' absence leaves without inputs, and waits for nodes that are gone.
void remove_nodes(std::vector<NodeDef>& nodes, std::set<std::string>& gone) {
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const NodeDef& node : nodes)
      for (const std::string& input : node.inputs)
        if (!is_control(input) && gone.contains(node_of(input)))
          is_new = gone.insert(node.name).second || is_new;
  }
  std::erase_if(nodes, [&](const NodeDef& node) { return gone.contains(node.name); });
  for (NodeDef& node : nodes)
    std::erase_if(node.inputs, [&](const std::string& input) { return gone.contains(node_of(input)); });
}

}  // namespace

std::optional<SaverFunction> SaverFunction::read(const FunctionDef& function) {
  SaverFunction saver(function);
  for (const NodeDef& node : function.nodes) {
    if (node.op != "SaveV2" && node.op != "RestoreV2") continue;
    if (saver.node_ != nullptr) return std::nullopt;
    saver.node_ = &node;
  }
  if (saver.node_ == nullptr || !saver.find_lists()) return std::nullopt;
  const bool is_known = saver.node_->op == "SaveV2" ? saver.read_save() : saver.read_restore();
  return is_known ? std::optional(std::move(saver)) : std::nullopt;
}

const NodeDef* SaverFunction::find(const std::string& input) const {
  const auto at = std::ranges::find(function_->nodes, node_of(input), &NodeDef::name);
  return at == function_->nodes.end() ? nullptr : &*at;
}

/// Finds the nodes with the names of tensors, and these with their types.
bool SaverFunction::find_lists() {
  if (node_->inputs.size() < first_saved) return false;
  const NodeDef *keys = find(node_->inputs[1]), *slices = find(node_->inputs[2]);
  if (keys == nullptr || slices == nullptr) return false;
  const std::vector<std::string> names = strings_of(*keys);
  const std::vector<int32_t> types = get_types(node_->attributes, "dtypes");
  if (names.empty() || names.size() != types.size() || strings_of(*slices).size() != names.size())
    return false;
  for (size_t i = 0; i < names.size(); ++i) tensors_.push_back({names[i], types[i], {}});
  keys_ = keys->name;
  slices_ = slices->name;
  return true;
}

/// Follows copies and reads of a variable to the argument with its handle; empty if they lead elsewhere.
std::string SaverFunction::find_argument(std::string input) const {
  for (size_t hops = 0; hops <= function_->nodes.size(); ++hops) {
    const auto& arguments = function_->signature.inputs;
    const auto argument = std::ranges::find(arguments, input, &ArgDef::name);
    if (argument != arguments.end()) return input;
    const NodeDef* node = find(input);
    if (node == nullptr || node->inputs.empty() || (node->op != "Identity" && node->op != "ReadVariableOp"))
      break;
    input = node->inputs[0];
  }
  return {};
}

bool SaverFunction::read_save() {
  if (node_->inputs.size() < first_saved + tensors_.size()) return false;
  for (size_t i = 0; i < tensors_.size(); ++i)
    tensors_[i].argument = find_argument(node_->inputs[first_saved + i]);
  return true;
}

bool SaverFunction::read_restore() {
  for (const NodeDef& node : function_->nodes) {
    if (node.op != "AssignVariableOp" || node.inputs.size() < 2) continue;
    std::string value = node.inputs[1];
    for (const NodeDef* from = find(value); from != nullptr && from->op == "Identity"; from = find(value))
      value = from->inputs[0];
    const int number = parse_reference(value).output;
    if (node_of(value) != node_->name || number < 0 || static_cast<size_t>(number) >= tensors_.size())
      return false;
    tensors_[static_cast<size_t>(number)].argument = node.inputs[0];
  }
  return true;
}

Result<std::string> SaverFunction::write(const std::set<std::string>& arguments) const {
  std::set<size_t> numbers, removed;
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (arguments.contains(tensors_[i].argument)) numbers.insert(i);
  for (size_t i = 0; i < function_->signature.inputs.size(); ++i)
    if (arguments.contains(function_->signature.inputs[i].name)) removed.insert(i);
  std::vector<NodeDef> nodes = function_->nodes;
  std::set<std::string> gone;
  for (NodeDef& node : nodes) {
    if (is_list(node) || node.name == node_->name) node.attributes.erase("_output_shapes");
    if (is_list(node)) set_strings(node, without(strings_of(node), numbers));
    if (node.name == node_->name) {
      node.attributes.set("dtypes", encode_types(without(get_types(node.attributes, "dtypes"), numbers)));
      if (node.op == "SaveV2") {
        const auto first = node.inputs.begin() + first_saved;
        const std::vector<std::string> rest =
            without(std::vector<std::string>(first, node.inputs.end()), numbers);
        node.inputs.erase(first, node.inputs.end());
        node.inputs.insert(node.inputs.end(), rest.begin(), rest.end());
      }
      continue;
    }
    for (std::string& input : node.inputs) {
      if (arguments.contains(input)) gone.insert(node.name);
      if (node_->op != "RestoreV2" || node_of(input) != node_->name || is_control(input)) continue;
      const auto number = static_cast<size_t>(parse_reference(input).output);
      if (numbers.contains(number)) gone.insert(node.name);
      const auto before = static_cast<size_t>(std::distance(numbers.begin(), numbers.lower_bound(number)));
      input = fmt::format("{}:tensors:{}", node_->name, number - before);
    }
  }
  remove_nodes(nodes, gone);
  FunctionEdit edit{.original = *function_,
                    .nodes = {},
                    .returns = function_->returns,
                    .control_returns = function_->control_returns,
                    .without = removed};
  std::erase_if(edit.control_returns, [&](const auto& entry) { return gone.contains(entry.second); });
  for (const NodeDef& node : nodes) {
    const char* changed = is_list(node) ? "value" : node.name == node_->name ? "dtypes" : nullptr;
    edit.nodes.push_back(
        TRY(changed ? write_body_node(node, {changed, "_output_shapes"}) : write_body_node(node)));
  }
  return write_function_edit(edit);
}

}  // namespace intarsia
