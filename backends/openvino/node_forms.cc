#include "backends/openvino/node_forms.h"

#include <algorithm>
#include <cmath>

namespace intarsia::openvino {
namespace {

/// OpenVINO takes output_shape for the sizes without padding.
Support check_transposed_convolution(const Graph&, const Node& node) {
  if (node.attributes.find("output_shape") == nullptr) return Support::supported();
  return Support::refused("OpenVINO computes another padding for a ConvTranspose with output_shape");
}

Support check_lstm(const Graph&, const Node& node) {
  constexpr size_t peepholes = 7;
  if (has_input(node, peepholes)) return Support::refused("OpenVINO ignores peepholes of an LSTM");
  if (node.attributes.get_int("input_forget", 0) != 0)
    return Support::refused("OpenVINO ignores input_forget of an LSTM");
  return Support::supported();
}

/// Softmax before version 13 is over all axes from the given one, which OpenVINO takes for the only one.
Support check_softmax(const Graph& graph, const Node& node) {
  const std::optional<SymbolicShape>& shape = graph.value(node.inputs[0]).type.shape;
  if (node.version >= 13 || !shape) return Support::supported();
  const int64_t given = node.attributes.get_int("axis", 1), rank = static_cast<int64_t>(shape->size());
  const int64_t axis =
      std::clamp(given < 0 ? given + rank : given, int64_t{0}, std::max(rank - 1, int64_t{0}));
  const bool is_alone = std::all_of(shape->begin() + std::min(axis + 1, rank), shape->end(),
                                    [](const Dim& size) { return size == Dim(1); });
  if (is_alone) return Support::supported();
  return Support::refused("OpenVINO computes a Softmax before version 13 over one axis only");
}

/// Checks whether each size of the output is a multiple of the input's: then no position lies between two
/// elements.
bool is_whole_upsampling(const Graph& graph, const Node& node) {
  const std::optional<Shape> from = graph.value(node.inputs[0]).type.fixed_shape();
  const std::optional<Shape> to = graph.value(node.outputs[0]).type.fixed_shape();
  if (!from || !to || from->size() != to->size()) return false;
  for (size_t axis = 0; axis < from->size(); ++axis)
    if ((*from)[axis] == 0 || (*to)[axis] % (*from)[axis] != 0) return false;
  return true;
}

Support check_resize(const Graph& graph, const Node& node) {
  constexpr size_t scales = 2;
  const Attributes& attributes = node.attributes;
  for (const char* ignored : {"exclude_outside", "antialias"})
    if (attributes.get_int(ignored, 0) != 0)
      return Support::refused(fmt::format("OpenVINO computes a Resize with {} otherwise", ignored));
  const bool rounds =
      attributes.get_string("mode", "nearest") == "nearest" ||
      (attributes.get_string("coordinate_transformation_mode", "half_pixel") == "align_corners" &&
       has_input(node, scales));
  if (rounds && !is_whole_upsampling(graph, node))
    return Support::refused("OpenVINO rounds positions of a Resize to other sizes than multiples otherwise");
  return Support::supported();
}

bool has_infinity(const Tensor& tensor) {
  const auto is_infinite = [](auto number) { return std::isinf(number); };
  if (tensor.dtype() == DType::f64) return std::ranges::any_of(tensor.as<double>(), is_infinite);
  return tensor.dtype() == DType::f32 && std::ranges::any_of(tensor.as<float>(), is_infinite);
}

/// Finds comparisons that ask whether all numbers of a row are infinite, as for keys that are all masked.
Support check_equal(const Graph& graph, const Node& node) {
  for (ValueId input : node.inputs)
    if (const std::optional<Tensor>& constant = graph.value(input).constant;
        constant && has_infinity(*constant))
      return Support::refused("OpenVINO takes the largest finite number for a maximum of infinities");
  return Support::supported();
}

/// Quantization must have a single scale for the tensor, or one per index of an axis, and known ones, since
/// OpenVINO computes with the reciprocal.
Support check_quantization(const Graph& graph, const Node& node) {
  constexpr size_t zero_point = 2;
  for (size_t i = 1; i <= zero_point; ++i)
    if (has_input(node, i) && !graph.value(node.inputs[i]).constant)
      return Support::refused("OpenVINO quantizes with constant scales and zero points");
  if (node.attributes.get_int("block_size", 0) != 0)
    return Support::refused("OpenVINO has no quantization in blocks");
  if (node.attributes.get_int("precision", 0) != 0)
    return Support::refused("OpenVINO ignores the precision of a QuantizeLinear");
  return Support::supported();
}

}  // namespace

Support check_form(const Graph& graph, const Node& node) {
  if (node.op == "ConvTranspose") return check_transposed_convolution(graph, node);
  if (node.op == "LSTM") return check_lstm(graph, node);
  if (node.op == "Softmax") return check_softmax(graph, node);
  if (node.op == "Resize") return check_resize(graph, node);
  if (node.op == "Equal") return check_equal(graph, node);
  if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") return check_quantization(graph, node);
  return Support::supported();
}

}  // namespace intarsia::openvino
