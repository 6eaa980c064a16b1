#include "passes/pinned_sizes.h"

#include <algorithm>

#include "graph/shape_rules.h"

namespace intarsia {
namespace {

Dim count_elements(const SymbolicShape& shape) { return product_of_dims(shape, 0, shape.size()); }

/// Returns the number for which factor * symbol + rest is 0; nullopt if there is none, or the size is open.
std::optional<int64_t> find_zero(const LinearSize& difference) {
  const int64_t value = -difference.rest / difference.factor;
  const bool is_zero = value >= 0 && value * difference.factor + difference.rest == 0;
  return is_zero ? std::optional(value) : std::nullopt;
}

std::optional<PinnedSize> find_pinned_by(const Graph& graph, const Node& node) {
  if (node.op != "Reshape" || !has_input(node, 0) || !has_output(node, 0)) return std::nullopt;
  const OptionalShape &from = graph.value(node.inputs[0]).type.shape,
                      &to = graph.value(node.outputs[0]).type.shape;
  if (!from || !to) return std::nullopt;
  const std::optional<LinearSize> difference = (count_elements(*from) - count_elements(*to)).linear();
  if (!difference) return std::nullopt;
  const bool is_open =
      std::ranges::find(graph.open_sizes, difference->symbol, &OpenSize::name) != graph.open_sizes.end();
  const std::optional<int64_t> value = find_zero(*difference);
  if (!is_open || !value) return std::nullopt;
  return PinnedSize{difference->symbol, *value, node.name,
                    fmt::format("reshapes {} to {}", print_shape(*from), print_shape(*to))};
}

}  // namespace

std::optional<PinnedSize> find_pinned_size(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (std::optional<PinnedSize> pinned = find_pinned_by(graph, node)) return pinned;
  return std::nullopt;
}

void fix_open_size(Graph& graph, const std::string& symbol, int64_t value) {
  const std::map<std::string, Dim> number{{symbol, value}};
  replace_sizes(graph, [&](const Dim& size) { return size.substitute(number); });
  std::erase_if(graph.open_sizes, [&](const OpenSize& size) { return size.name == symbol; });
}

}  // namespace intarsia
