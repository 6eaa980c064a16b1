#include "import/function_matcher.h"

#include <algorithm>

namespace intarsia {

using tensorflow::NodeDef;

FunctionMatcher::FunctionMatcher(const tensorflow::FunctionDef& function) : function_(function) {
  for (const tensorflow::ArgDef& argument : function.signature.inputs)
    arguments_.emplace(argument.name, static_cast<int>(arguments_.size()));
  for (const NodeDef& node : function.nodes) nodes_[node.name] = &node;
}

Term FunctionMatcher::resolve(const std::string& reference) const {
  std::string at = reference;
  for (size_t steps = 0; steps <= nodes_.size(); ++steps) {
    if (const auto argument = arguments_.find(at); argument != arguments_.end())
      return {argument->second, nullptr, {}};
    const size_t colon = at.find(':');
    const auto node = nodes_.find(at.substr(0, colon));
    if (node == nodes_.end()) return {};
    const bool is_alias = node->second->op == "Identity" && !node->second->inputs.empty();
    if (!is_alias) return {-1, node->second, colon == std::string::npos ? "" : at.substr(colon + 1)};
    at = node->second->inputs[0];
  }
  return {};
}

Term FunctionMatcher::result(size_t i) const {
  const auto from = function_.returns.find(function_.signature.outputs[i].name);
  return from == function_.returns.end() ? Term{} : resolve(from->second);
}

Term FunctionMatcher::input(const Term& term, size_t i) const {
  if (term.node == nullptr || i >= term.node->inputs.size() || term.node->inputs[i].starts_with('^'))
    return {};
  return resolve(term.node->inputs[i]);
}

std::optional<std::vector<int64_t>> FunctionMatcher::integers(const Term& term) const {
  const Tensor* tensor = term.is_op("Const") ? term.node->attributes.get_tensor("value") : nullptr;
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype() == DType::i32)
    return std::vector<int64_t>(tensor->as<int32_t>().begin(), tensor->as<int32_t>().end());
  if (tensor->dtype() == DType::i64)
    return std::vector<int64_t>(tensor->as<int64_t>().begin(), tensor->as<int64_t>().end());
  return std::nullopt;
}

std::optional<int64_t> FunctionMatcher::integer(const Term& term) const {
  const std::optional<std::vector<int64_t>> list = integers(term);
  return list && list->size() == 1 ? std::optional((*list)[0]) : std::nullopt;
}

std::optional<double> FunctionMatcher::number(const Term& term) const {
  const Tensor* tensor = term.is_op("Const") ? term.node->attributes.get_tensor("value") : nullptr;
  if (tensor == nullptr || tensor->dtype() != DType::f32 || element_count(tensor->shape()) != 1)
    return std::nullopt;
  return tensor->as<float>()[0];
}

Term FunctionMatcher::other(const Term& term, const char* op, const Term& known) const {
  if (!term.is_op(op)) return {};
  if (input(term, 0) == known) return input(term, 1);
  return input(term, 1) == known ? input(term, 0) : Term{};
}

std::optional<std::pair<Term, Term>> FunctionMatcher::operands(const Term& term, const char* op,
                                                               const char* operand_op) const {
  if (!term.is_op(op)) return std::nullopt;
  const Term a = input(term, 0), b = input(term, 1);
  if (a.is_op(operand_op)) return std::pair(a, b);
  if (b.is_op(operand_op)) return std::pair(b, a);
  return std::nullopt;
}

}  // namespace intarsia
