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

constexpr std::array<std::string_view, 8> sliding = {
    "Conv",   "ConvTranspose",         "MaxPool", "AveragePool", "QLinearConv",  // ONNX
    "Conv2D", "DepthwiseConv2dNative", "AvgPool"};                               // TensorFlow

/// Returns the shape of the first input of a node that slides along axes; null for others.
const SymbolicShape* slid_shape(const Graph& graph, const Node& node) {
  const auto is_it = [&](std::string_view op) { return op == node.op; };
  if (!has_input(node, 0) || std::ranges::none_of(sliding, is_it)) return nullptr;
  const auto& shape = graph.value(node.inputs[0]).type.shape;
  return shape ? &*shape : nullptr;
}

/// Returns the least number of steps that a convolution leaves of an open size, if that is `size` and all
/// others are as planned.
int64_t count_least_steps(const Graph& graph, const std::string& name, int64_t size) {
  std::map<std::string, Dim> numbers;
  for (const OpenSize& open : graph.open_sizes) numbers[open.name] = open.tuned_size();
  numbers[name] = size;
  int64_t least = size;
  for (const Node& node : graph.nodes) {
    if (slid_shape(graph, node) == nullptr || !has_output(node, 0)) continue;
    const auto& out = graph.value(node.outputs[0]).type.shape;
    for (size_t axis = 1; out && axis < out->size(); ++axis) {
      if (!(*out)[axis].symbols().contains(name)) continue;
      if (const Dim steps = (*out)[axis].substitute(numbers); steps.is_number())
        least = std::min(least, steps.number());
    }
  }
  return least;
}

}  // namespace

std::map<std::string, int64_t> usual_sizes(const Graph& graph) {
  constexpr int64_t picture = 224, signal = 128, longest_signal = 65536, fewest_steps = 32;
  std::map<std::string, int64_t> usual;
  for (const Node& node : graph.nodes) {
    const SymbolicShape* shape = slid_shape(graph, node);
    for (size_t axis = 1; shape != nullptr && shape->size() > 2 && axis < shape->size(); ++axis)
      for (const std::string& name : (*shape)[axis].symbols())
        usual.try_emplace(name, shape->size() == 3 ? signal : picture);
  }
  for (auto& [name, size] : usual)
    while (size != picture && size < longest_signal && count_least_steps(graph, name, size) < fewest_steps)
      size *= 2;
  return usual;
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
