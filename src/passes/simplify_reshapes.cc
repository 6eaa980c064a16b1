#include "passes/simplify_reshapes.h"

#include <algorithm>
#include <map>

namespace intarsia {
namespace {

/// Returns the numbers of a shape with -1 for its only open size; nullopt if it has none or several, or a
/// number that is not positive.
std::optional<std::vector<int64_t>> with_one_open(const std::vector<Dim>& elements) {
  std::vector<int64_t> sizes;
  for (const Dim& element : elements) {
    sizes.push_back(element.is_number() ? element.number() : -1);
    if (!element.is_known() || (element.is_number() && element.number() <= 0)) return std::nullopt;
  }
  return std::ranges::count(sizes, -1) == 1 ? std::optional(sizes) : std::nullopt;
}

Tensor make_shape(DType dtype, const std::vector<int64_t>& sizes) {
  const Tensor tensor(dtype, {static_cast<int64_t>(sizes.size())});
  if (dtype == DType::i64)
    std::ranges::copy(sizes, tensor.as<int64_t>().begin());
  else
    std::ranges::transform(sizes, tensor.as<int32_t>().begin(),
                           [](int64_t size) { return static_cast<int32_t>(size); });
  return tensor;
}

}  // namespace

void simplify_reshapes(Graph& graph) {
  std::map<ValueId, ValueId> constants;  // by the shape that each replaces
  for (Node& node : graph.nodes) {
    if (node.op != "Reshape" || !has_input(node, 1)) continue;
    const ValueId shape = node.inputs[1];
    const ValueType type = graph.value(shape).type;
    if (graph.value(shape).constant || !type.elements || type.shape->size() != 1) continue;
    if (type.dtype != DType::i64 && type.dtype != DType::i32) continue;
    const std::optional<std::vector<int64_t>> sizes = with_one_open(*type.elements);
    if (!sizes) continue;
    const auto [known, is_new] = constants.try_emplace(shape, no_value);
    if (is_new)
      known->second =
          graph.add_constant(graph.value(shape).name + " with one open", make_shape(type.dtype, *sizes));
    node.inputs[1] = known->second;
  }
}

}  // namespace intarsia
