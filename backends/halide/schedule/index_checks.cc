#include "backends/halide/schedule/index_checks.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

/// Returns the limits along an axis; negative indices count from the end.
IndexLimits along(const Dim& size) { return {Dim(0) - size, size - Dim(1)}; }

/// Returns the input that may have indices.
ValueId indices_of(const Node& node) {
  if (op_of(node) == CoreOp::sequence_mask) return node.inputs[0];
  const bool is_third = op_of(node) == CoreOp::tensor_scatter || op_of(node) == CoreOp::roi_align;
  return node.inputs[is_third ? 2 : 1];
}

/// Returns the limits of the elements of a tuple, the first of which is for axis `first`.
std::vector<IndexLimits> limits_of_tuples(const Graph& body, const Node& node, int64_t first) {
  std::vector<IndexLimits> limits;
  for (int64_t k = 0; k < sizes_of(body, node.inputs[1]).back().number(); ++k)
    limits.push_back(along(sizes_of(body, node.inputs[0])[static_cast<size_t>(first + k)]));
  return limits;
}

/// Returns the limits of the first place of updates of a cache; circular ones begin anywhere.
IndexLimits limits_of_first(const Graph& body, const Node& node) {
  constexpr int64_t any = int64_t{1} << 62;
  const auto [axis, circular] = attributes_of<TensorScatterAttributes>(node);
  const auto along = static_cast<size_t>(axis);
  if (circular) return {0, any};
  return {0, sizes_of(body, node.inputs[0])[along] - sizes_of(body, node.inputs[1])[along]};
}

/// Returns the limits of the elements of that input; none if it has no indices, or any is valid.
std::vector<IndexLimits> limits_of(const Graph& body, const Node& node) {
  const auto size = [&](int64_t axis) { return sizes_of(body, node.inputs[0])[static_cast<size_t>(axis)]; };
  switch (op_of(node)) {
    case CoreOp::gather:
      if (body.value(node.inputs[1]).type.dtype == DType::u8) return {};  // of a table of 256 elements
      [[fallthrough]];
    case CoreOp::gather_elements:
      return {along(size(attributes_of<AxisAttributes>(node).axis))};
    case CoreOp::gather_nd:
      return limits_of_tuples(body, node, attributes_of<GatherNdAttributes>(node).batch_dims);
    case CoreOp::scatter_elements:
      return {along(size(attributes_of<ScatterAttributes>(node).axis))};
    case CoreOp::roi_align:
      return {{0, size(0) - 1}};
    case CoreOp::scatter_nd:
      return limits_of_tuples(body, node, 0);
    case CoreOp::tensor_scatter:
      return {limits_of_first(body, node)};
    case CoreOp::reverse_sequence:
      return {{0, size(attributes_of<ReverseSequenceAttributes>(node).time_axis)}};
    case CoreOp::sequence_mask:
      return {{0, sizes_of(body, node.outputs[0])[0]}};
    default:
      return {};
  }
}

template <typename T>
bool are_valid(std::span<const T> indices, const std::vector<IndexLimits>& limits) {
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto& [low, high] = limits[i % limits.size()];
    if (!low.is_number() || !high.is_number() || indices[i] < low.number() || indices[i] > high.number())
      return false;
  }
  return true;
}

bool are_valid(const Tensor& indices, const std::vector<IndexLimits>& limits) {
  return indices.dtype() == DType::i32 ? are_valid<int32_t>(indices.as<int32_t>(), limits)
                                       : are_valid<int64_t>(indices.as<int64_t>(), limits);
}

}  // namespace

std::vector<IndexCheck> index_checks(const Kernel& kernel, const std::vector<const Tensor*>& constants) {
  const Node& node = kernel.body.node(kernel.anchor);
  std::vector<IndexLimits> limits = limits_of(kernel.body, node);
  if (limits.empty()) return {};
  const auto at = std::ranges::find(kernel.body.inputs, indices_of(node));
  INTARSIA_CHECK(at != kernel.body.inputs.end());  // fusion puts nothing before a movement
  const auto input = static_cast<size_t>(at - kernel.body.inputs.begin());
  if (constants[input] != nullptr && are_valid(*constants[input], limits)) return {};
  return {{input, std::move(limits)}};
}

}  // namespace intarsia::halide
