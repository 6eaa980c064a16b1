#include "graph/find_batch.h"

#include <algorithm>
#include <cctype>

namespace intarsia {
namespace {

/// Checks whether the name is one that exporters give to the number of items.
bool names_batch(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return name.contains("batch") || name == "n" || name == "b";
}

/// Checks whether inputs have the size as their first axis, and none has it elsewhere.
bool is_first_axis(const Graph& graph, const std::string& name) {
  bool is_first = false;
  for (ValueId input : graph.inputs) {
    const auto& shape = graph.value(input).type.shape;
    for (size_t axis = 0; shape && axis < shape->size(); ++axis) {
      if (!(*shape)[axis].symbols().contains(name)) continue;
      if (axis > 0) return false;
      is_first = true;
    }
  }
  return is_first;
}

}  // namespace

const OpenSize* find_batch(const Graph& graph) {
  const std::vector<OpenSize>& open = graph.open_sizes;
  const auto named = std::ranges::find_if(open, names_batch, &OpenSize::name);
  if (named != open.end()) return &*named;
  const auto placed = std::ranges::find_if(
      open, [&](const std::string& name) { return is_first_axis(graph, name); }, &OpenSize::name);
  return placed == open.end() ? nullptr : &*placed;
}

}  // namespace intarsia
