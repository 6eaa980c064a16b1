#include "passes/index_limits.h"

#include <algorithm>
#include <array>

#include "translate/translate_node.h"

namespace intarsia {
namespace {

/// Returns the axes of input 0 along which the elements of input 1 choose.
std::vector<int64_t> chosen_axes(const Graph& graph, const Node& node) {
  const bool is_ours = node.domain.empty();
  if (!has_input(node, 1)) return {};
  if (is_ours && (node.op == "Gather" || node.op == "GatherElements" || node.op == "ScatterElements"))
    return {node.attributes.get_int("axis", 0)};
  if (is_tensorflow(node) && node.op == "GatherV2" && has_input(node, 2)) {
    const std::optional<Tensor>& axis = graph.value(node.inputs[2]).constant;
    if (!axis || element_count(axis->shape()) != 1) return {};
    return {axis->dtype() == DType::i32 ? axis->as<int32_t>()[0] : axis->as<int64_t>()[0]};
  }
  const bool has_tuples = is_ours ? node.op == "GatherND" || node.op == "ScatterND"
                                  : is_tensorflow(node) && node.op == "GatherNd";
  const auto& indices = graph.value(node.inputs[1]).type.shape;
  if (!has_tuples || !indices || indices->empty() || !indices->back().is_number()) return {};
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < indices->back().number(); ++k)
    axes.push_back(node.attributes.get_int("batch_dims", 0) + k);
  return axes;
}

/// Returns the size of an axis; 0 if unknown.
int64_t size_along(const Graph& graph, ValueId value, int64_t axis) {
  const auto& shape = graph.value(value).type.shape;
  if (!shape) return 0;
  const auto rank = static_cast<int64_t>(shape->size());
  const int64_t from_start = axis < 0 ? axis + rank : axis;
  if (from_start < 0 || from_start >= rank) return 0;
  const Dim& size = (*shape)[static_cast<size_t>(from_start)];
  return size.is_number() ? size.number() : 0;
}

/// Checks whether each element of the result is one of input 0, as the other inputs say.
bool only_moves_elements(const Node& node) {
  constexpr std::array ours{"Gather", "Identity", "Slice", "Squeeze", "Unsqueeze"};
  constexpr std::array theirs{"ExpandDims", "GatherV2", "Identity", "Slice", "Squeeze", "StridedSlice"};
  const auto contains = [&](const auto& list) { return std::ranges::find(list, node.op) != list.end(); };
  return is_tensorflow(node) ? contains(theirs) : node.domain.empty() && contains(ours);
}

/// Checks whether the result's elements are those of input 0, possibly of another type or repeated.
bool hands_on(const Node& node) {
  constexpr std::array views{"Cast", "Expand", "Flatten", "Reshape", "Tile", "Transpose", "BroadcastTo"};
  return (node.domain.empty() || is_tensorflow(node)) &&
         (only_moves_elements(node) || std::ranges::find(views, node.op) != views.end());
}

void lower(int64_t& limit, int64_t size) {
  if (size > 0) limit = limit == 0 ? size : std::min(limit, size);
}

}  // namespace

std::vector<int64_t> index_limits(const Graph& graph) {
  std::vector<int64_t> limits(graph.values.size(), 0);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    for (int64_t axis : chosen_axes(graph, *node))
      lower(limits[index(node->inputs[1])], size_along(graph, node->inputs[0], axis));
    if (!has_input(*node, 0) || node->outputs.empty() || node->outputs[0] == no_value) continue;
    const bool joins = node->op == "Concat" && node->domain.empty();
    const size_t sources = joins ? node->inputs.size() : hands_on(*node) ? 1 : 0;
    for (size_t i = 0; i < sources; ++i)
      if (has_input(*node, i)) lower(limits[index(node->inputs[i])], limits[index(node->outputs[0])]);
  }
  return limits;
}

}  // namespace intarsia
