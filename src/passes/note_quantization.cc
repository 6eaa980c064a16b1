#include "passes/note_quantization.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace intarsia {
namespace {

/// An operator's quantized input or output, and the two inputs that quantize it.
struct QuantizedArgument {
  std::string_view op;
  std::optional<size_t> input;  // nullopt for the output
  size_t scale = 0, zero_point = 0;
};

constexpr QuantizedArgument arguments[] = {{"QuantizeLinear", std::nullopt, 1, 2},
                                           {"DequantizeLinear", 0, 1, 2},
                                           {"QLinearConv", 0, 1, 2},
                                           {"QLinearConv", 3, 4, 5},
                                           {"QLinearConv", std::nullopt, 6, 7},
                                           {"QLinearMatMul", 0, 1, 2},
                                           {"QLinearMatMul", 3, 4, 5},
                                           {"QLinearMatMul", std::nullopt, 6, 7}};

const Tensor* constant_input(const Graph& graph, const Node& node, size_t number) {
  if (number >= node.inputs.size() || node.inputs[number] == no_value) return nullptr;
  const std::optional<Tensor>& constant = graph.value(node.inputs[number]).constant;
  return constant ? &*constant : nullptr;
}

template <typename T>
std::vector<int64_t> whole_numbers(const Tensor& tensor) {
  const auto* first = static_cast<const T*>(tensor.data());
  return {first, first + tensor.bytes() / sizeof(T)};
}

std::optional<std::vector<int64_t>> read_zero_points(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::u8:
      return whole_numbers<uint8_t>(tensor);
    case DType::i8:
      return whole_numbers<int8_t>(tensor);
    case DType::u16:
      return whole_numbers<uint16_t>(tensor);
    case DType::i16:
      return whole_numbers<int16_t>(tensor);
    case DType::i32:
      return whole_numbers<int32_t>(tensor);
    default:
      return std::nullopt;
  }
}

/// Returns the quantization of the argument; null if unknown.
std::shared_ptr<const Quantization> read_quantization(const Graph& graph, const Node& node,
                                                      const QuantizedArgument& argument) {
  const Tensor* scale = constant_input(graph, node, argument.scale);
  const bool has_zero_point =
      argument.zero_point < node.inputs.size() && node.inputs[argument.zero_point] != no_value;
  const Tensor* zero_point = constant_input(graph, node, argument.zero_point);
  const bool is_blocked = node.attributes.get_int("block_size", 0) != 0;
  if (scale == nullptr || scale->dtype() != DType::f32 || scale->shape().size() > 1 || is_blocked ||
      (has_zero_point && zero_point == nullptr))
    return nullptr;
  Quantization made;
  const auto* first = static_cast<const float*>(scale->data());
  made.scales.assign(first, first + scale->bytes() / sizeof(float));
  made.zero_points.assign(made.scales.size(), 0);
  if (zero_point != nullptr) {
    const auto read = read_zero_points(*zero_point);
    if (!read || read->size() != made.scales.size()) return nullptr;
    made.zero_points = *read;
  }
  const bool is_filters = argument.op == "QLinearConv" && argument.input == 3;
  made.axis = is_filters ? 0 : node.attributes.get_int("axis", 1);
  return std::make_shared<const Quantization>(std::move(made));
}

}  // namespace

void note_quantization(Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (!node.domain.empty()) continue;
    for (const QuantizedArgument& argument : arguments) {
      if (argument.op != node.op) continue;
      const std::vector<ValueId>& side = argument.input ? node.inputs : node.outputs;
      const size_t number = argument.input.value_or(0);
      if (number >= side.size() || side[number] == no_value) continue;
      Value& value = graph.value(side[number]);
      if (value.quantization == nullptr) value.quantization = read_quantization(graph, node, argument);
    }
  }
}

}  // namespace intarsia
