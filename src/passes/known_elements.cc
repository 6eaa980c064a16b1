#include "passes/known_elements.h"

#include <algorithm>
#include <array>

#include "translate/translate_node.h"

namespace intarsia {
namespace {

using Elements = std::vector<std::optional<int64_t>>;

Elements sizes_of(const SymbolicShape& shape) {
  Elements sizes;
  for (const Dim& dim : shape) sizes.push_back(dim.is_number() ? std::optional(dim.number()) : std::nullopt);
  return sizes;
}

}  // namespace

std::optional<Elements> known_elements(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.producer == no_node) return std::nullopt;
  const Node& node = graph.node(value.producer);
  if (!has_input(node, 0) || !graph.value(node.inputs[0]).type.shape) return std::nullopt;
  const Elements sizes = sizes_of(*graph.value(node.inputs[0]).type.shape);
  const bool is_part = node.attributes.has("start") || node.attributes.has("end");
  if (node.op == "Shape" && (is_tensorflow(node) || node.domain.empty()) && !is_part) return sizes;
  if (is_tensorflow(node) && node.op == "StringSplitV2" && node.outputs.size() > 2 && node.outputs[2] == id &&
      sizes.size() == 1) {
    return Elements{sizes[0], std::nullopt};
  }
  return std::nullopt;
}

bool only_moves_elements(const Node& node) {
  constexpr std::array ours{"Gather", "Identity", "Slice", "Squeeze", "Unsqueeze"};
  constexpr std::array theirs{"ExpandDims", "GatherV2", "Identity", "Slice", "Squeeze", "StridedSlice"};
  const auto contains = [&](const auto& list) { return std::ranges::find(list, node.op) != list.end(); };
  return is_tensorflow(node) ? contains(theirs) : node.domain.empty() && contains(ours);
}

}  // namespace intarsia
