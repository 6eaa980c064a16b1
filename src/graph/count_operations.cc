#include "graph/count_operations.h"

#include <algorithm>
#include <array>

namespace intarsia {
namespace {

std::optional<Shape> planned_shape(const Graph& graph, ValueId value) {
  return value == no_value ? std::nullopt : graph.planned_shape(value);
}

uint64_t count_elements(const Shape& shape) { return static_cast<uint64_t>(element_count(shape)); }

bool is_product(const Node& node) {
  constexpr std::array products{"Conv", "ConvTranspose", "MatMul", "Gemm"};
  return node.domain.empty() && std::ranges::find(products, node.op) != products.end() &&
         has_input(node, 0) && has_input(node, 1) && has_output(node, 0);
}

/// Returns the multiply-adds for each element of the output, or of the input of a ConvTranspose.
uint64_t depth(const Node& node, const Shape& input, const Shape& weights, const Shape& output) {
  if (node.op == "MatMul") return static_cast<uint64_t>(input.back());
  if (node.op == "Gemm") return count_elements(input) / static_cast<uint64_t>(output[0]);
  return count_elements(weights) / static_cast<uint64_t>(weights[0]);
}

/// Returns the bytes of a value; 0 if it is omitted.
std::optional<uint64_t> value_bytes(const Graph& graph, ValueId value) {
  return value == no_value ? 0 : graph.planned_bytes(value);
}

/// Checks whether a value is not f32, or became f32 by dequantization from fewer bits.
bool is_of_few_bits(const Graph& graph, ValueId value) {
  const NodeId maker = graph.value(value).producer;
  return graph.value(value).type.dtype != DType::f32 ||
         (maker != no_node && graph.node(maker).op == "DequantizeLinear");
}

bool picks_elements(const Node& node) {
  constexpr std::array pickers{"Gather", "GatherElements", "GatherND", "Slice"};
  return std::ranges::find(pickers, node.op) != pickers.end();
}

}  // namespace

uint64_t count_operations(const Graph& graph, const Node& node) {
  if (!is_product(node)) return 0;
  const std::optional<Shape> input = planned_shape(graph, node.inputs[0]),
                             weights = planned_shape(graph, node.inputs[1]),
                             output = planned_shape(graph, node.outputs[0]);
  if (!input || !weights || !output || input->empty() || weights->empty()) return 0;
  const uint64_t outputs = count_elements(*output);
  if (outputs == 0 || count_elements(*weights) == 0) return 0;
  const uint64_t each = node.op == "ConvTranspose" ? count_elements(*input) : outputs;
  return 2 * each * depth(node, *input, *weights, *output);
}

uint64_t count_least_operations(const Graph& graph, const Node& node) {
  constexpr uint64_t avoided = 6;  // F(6x6, 3x3) multiplies 8 * 8 times for 6 * 6 * 3 * 3
  const uint64_t all = count_operations(graph, node);
  if (all == 0 || is_of_few_bits(graph, node.inputs[0]) || is_of_few_bits(graph, node.inputs[1])) return 0;
  const Shape weights = weights_shape(graph, node);
  const bool has_window =
      (node.op == "Conv" || node.op == "ConvTranspose") &&
      std::ranges::any_of(weights.begin() + 2, weights.end(), [](int64_t size) { return size > 1; });
  return has_window ? all / avoided : all;
}

uint64_t count_bytes(const Graph& graph, const Node& node) {
  uint64_t outputs = 0, inputs = 0;
  for (ValueId value : node.outputs) {
    const std::optional<uint64_t> bytes = value_bytes(graph, value);
    if (!bytes) return 0;
    outputs += *bytes;
  }
  for (ValueId value : node.inputs) {
    const std::optional<uint64_t> bytes = value_bytes(graph, value);
    if (!bytes) return 0;
    inputs += picks_elements(node) ? std::min(*bytes, outputs) : *bytes;
  }
  return inputs + outputs;
}

Shape weights_shape(const Graph& graph, const Node& node) {
  return is_product(node) ? planned_shape(graph, node.inputs[1]).value_or(Shape()) : Shape();
}

}  // namespace intarsia
