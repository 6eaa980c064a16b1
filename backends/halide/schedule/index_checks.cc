#include "backends/halide/schedule/index_checks.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

/// Returns the limits along an axis; negative indices count from the end.
IndexLimits along(const Dim& size) { return {Dim(0) - size, size - Dim(1)}; }

/// Returns the input of a movement that may have indices.
ValueId indices_of(const Node& node) { return node.inputs[op_of(node) == CoreOp::sequence_mask ? 0 : 1]; }

/// Returns the limits of the elements of that input; none if it has no indices, or any is valid.
std::vector<IndexLimits> limits_of(const Graph& body, const Node& node) {
  const auto size = [&](int64_t axis) { return sizes_of(body, node.inputs[0])[static_cast<size_t>(axis)]; };
  switch (op_of(node)) {
    case CoreOp::gather:
      if (body.value(node.inputs[1]).type.dtype == DType::u8) return {};  // of a table of 256 elements
      [[fallthrough]];
    case CoreOp::gather_elements:
      return {along(size(attributes_of<AxisAttributes>(node).axis))};
    case CoreOp::gather_nd: {
      const int64_t batch = attributes_of<GatherNdAttributes>(node).batch_dims;
      std::vector<IndexLimits> limits;
      for (int64_t k = 0; k < sizes_of(body, node.inputs[1]).back().number(); ++k)
        limits.push_back(along(size(batch + k)));
      return limits;
    }
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
