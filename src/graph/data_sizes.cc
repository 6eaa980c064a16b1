#include "graph/data_sizes.h"

#include <algorithm>

namespace intarsia {

void name_data_sizes(Graph& graph, const Node& node) {
  for (ValueId output : node.outputs) {
    if (output == no_value) continue;
    Value& value = graph.value(output);
    if (value.type.opaque || !value.type.shape) continue;
    for (size_t axis = 0; axis < value.type.shape->size(); ++axis)
      if (Dim& size = (*value.type.shape)[axis]; !size.is_known())
        size = Dim::named(fmt::format("size {} of {}", axis, value.name));
  }
}

bool depends_on_data(const Graph& graph, const Dim& size) {
  if (!size.is_known()) return true;
  return !std::ranges::all_of(size.symbols(), [&](const std::string& symbol) {
    return std::ranges::find(graph.open_sizes, symbol, &OpenSize::name) != graph.open_sizes.end();
  });
}

SymbolicShape without_data_sizes(const Graph& graph, SymbolicShape shape) {
  for (Dim& size : shape)
    if (depends_on_data(graph, size)) size = Dim::unknown();
  return shape;
}

}  // namespace intarsia
