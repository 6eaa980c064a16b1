#include "passes/simplify_reshapes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "graph/element_rules.h"

namespace intarsia {
namespace {

/// Returns the numbers of a shape as a Reshape of `from` may read them: 0 for an open size that is the one of
/// the same axis of `from`, and -1 for the only other one; nullopt if there are more, or a number is not
/// positive. With both, a size of 0 would leave that of -1 undetermined.
std::optional<std::vector<int64_t>> as_numbers(const std::vector<Dim>& elements, const SymbolicShape& from) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < elements.size(); ++i) {
    const Dim& element = elements[i];
    if (!element.is_known() || (element.is_number() && element.number() <= 0)) return std::nullopt;
    const bool is_kept = i < from.size() && provably_equal(element, from[i]);
    numbers.push_back(element.is_number() ? element.number() : is_kept ? 0 : -1);
  }
  const auto copied = std::ranges::count(numbers, 0), inferred = std::ranges::count(numbers, -1);
  return (copied == 0 && inferred == 1) || (copied > 0 && inferred == 0) ? std::optional(numbers)
                                                                         : std::nullopt;
}

Tensor make_shape(DType dtype, const std::vector<int64_t>& numbers) {
  ValueType type{dtype, SymbolicShape{static_cast<int64_t>(numbers.size())}};
  type.elements = to_symbolic(numbers);
  return *tensor_of_elements(type);
}

/// Checks whether a size of 0 stands for the input's: in TensorFlow it is a size.
bool copies_zeros(const Node& node) {
  return node.domain.empty() && node.attributes.get_int("allowzero", 0) == 0;
}

}  // namespace

void simplify_reshapes(Graph& graph) {
  std::map<std::pair<ValueId, std::vector<int64_t>>, ValueId> constants;  // by what each replaces
  for (Node& node : graph.nodes) {
    if (node.op != "Reshape" || !has_input(node, 1)) continue;
    const ValueId shape = node.inputs[1];
    const ValueType type = graph.value(shape).type;
    const std::optional<SymbolicShape>& from = graph.value(node.inputs[0]).type.shape;
    if (graph.value(shape).constant || !type.elements || type.shape->size() != 1) continue;
    if (type.dtype != DType::i64 && type.dtype != DType::i32) continue;
    const std::optional<std::vector<int64_t>> numbers =
        as_numbers(*type.elements, from && copies_zeros(node) ? *from : SymbolicShape());
    if (!numbers) continue;
    const auto [known, is_new] = constants.try_emplace({shape, *numbers}, no_value);
    if (is_new)
      known->second =
          graph.add_constant(fmt::format("{} as {}", graph.value(shape).name, fmt::join(*numbers, ",")),
                             make_shape(type.dtype, *numbers));
    node.inputs[1] = known->second;
  }
}

}  // namespace intarsia
