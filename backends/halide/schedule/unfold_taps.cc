#include "backends/halide/schedule/unfold_taps.h"

#include <algorithm>
#include <cstring>

#include "backends/halide/core/core_attributes.h"
#include "backends/halide/schedule/amx_schedule.h"

namespace intarsia::halide {
namespace {

/// Moves the last axis, of taps, into the input channels: element (o, c, taps..., k) becomes
/// (o, k * channels + c, taps..., 0).
Tensor unfold_weights(const Tensor& weights) {
  Shape shape = weights.shape();
  const int64_t channels = shape[1], last = shape.back(), outputs = shape[0];
  const int64_t taps = element_count(Shape(shape.begin() + 2, shape.end() - 1));
  shape[1] = channels * last;
  shape.back() = 1;
  Tensor unfolded(weights.dtype(), shape);
  const size_t bytes = static_cast<size_t>(dtype_bits(weights.dtype()) / 8);
  auto* to = static_cast<std::byte*>(unfolded.data());
  const auto* from = static_cast<const std::byte*>(weights.data());
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t k = 0; k < last; ++k)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t tap = 0; tap < taps; ++tap, to += bytes)
          std::memcpy(to, from + static_cast<size_t>(((o * channels + c) * taps + tap) * last + k) * bytes,
                      bytes);
  return unfolded;
}

/// Returns the least depth that tile registers take; nullopt if they do not multiply these types.
std::optional<int64_t> least_depth(DType input, DType weights, bool rounds_to_bf16) {
  if (input == DType::u8 && weights == DType::i8) return amx_least_depth(1);
  const bool are_f32 = input == DType::f32 && weights == DType::f32;
  const bool are_bf16 = input == DType::bf16 && weights == DType::bf16;
  return are_bf16 || (are_f32 && rounds_to_bf16) ? std::optional(amx_least_depth(2)) : std::nullopt;
}

bool suits(const Graph& graph, const Node& node, bool rounds_to_bf16) {
  if (op_of(node) != CoreOp::conv) return false;
  const ConvAttributes conv = attributes_of<ConvAttributes>(node);
  const Value &input = graph.value(node.inputs[0]), &weights = graph.value(node.inputs[1]);
  const std::optional<int64_t> least = least_depth(input.type.dtype, weights.type.dtype, rounds_to_bf16);
  if (!least || !weights.constant || conv.group != 1 || !all_are(conv.input_dilations, 1)) return false;
  const SymbolicShape& out = sizes_of(graph, node.outputs[0]);
  const auto is_number = [](const Dim& size) { return size.is_number(); };
  if (!std::all_of(out.begin() + 2, out.end(), is_number)) return false;
  const Shape& sizes = weights.constant->shape();
  return sizes[0] >= amx_tile && sizes[1] < *least && sizes[1] * sizes.back() >= *least;
}

}  // namespace

void unfold_taps(Graph& graph, const Isa& isa, bool rounds_to_bf16) {
  if (!isa.has_amx()) return;
  for (Node& node : graph.nodes) {
    if (!suits(graph, node, rounds_to_bf16)) continue;
    ConvAttributes conv = attributes_of<ConvAttributes>(node);
    const Value& weights = graph.value(node.inputs[1]);
    conv.unfolded = weights.constant->shape().back();
    const std::string name = weights.name + "_unfolded";
    node.inputs[1] = graph.add_constant(name, unfold_weights(*weights.constant));
    set_attributes(node, conv);
  }
}

}  // namespace intarsia::halide
