#include "graph/size_roles.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

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

constexpr std::array<std::string_view, 8> picture_readers = {
    "Conv",   "ConvTranspose",         "MaxPool", "AveragePool", "QLinearConv",  // ONNX
    "Conv2D", "DepthwiseConv2dNative", "AvgPool"};                               // TensorFlow

bool reads_picture(const Graph& graph, const Node& node) {
  const auto is_it = [&](std::string_view op) { return op == node.op; };
  if (node.inputs.empty() || node.inputs[0] == no_value || std::ranges::none_of(picture_readers, is_it))
    return false;
  const auto& shape = graph.value(node.inputs[0]).type.shape;
  return shape && shape->size() == 4;
}

}  // namespace

std::set<std::string> find_picture_sides(const Graph& graph) {
  std::set<std::string> sides;
  for (const Node& node : graph.nodes) {
    if (!reads_picture(graph, node)) continue;
    const SymbolicShape& shape = *graph.value(node.inputs[0]).type.shape;
    for (size_t axis = 1; axis < shape.size(); ++axis) sides.merge(shape[axis].symbols());
  }
  return sides;
}

const OpenSize* find_batch(const Graph& graph) {
  const std::vector<OpenSize>& open = graph.open_sizes;
  const auto named = std::ranges::find_if(open, names_batch, &OpenSize::name);
  if (named != open.end()) return &*named;
  const auto placed = std::ranges::find_if(
      open, [&](const std::string& name) { return is_first_axis(graph, name); }, &OpenSize::name);
  return placed == open.end() ? nullptr : &*placed;
}

}  // namespace intarsia
