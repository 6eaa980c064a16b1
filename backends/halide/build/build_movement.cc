// Data movement: finds the input element that an output element is. Indices that come from data are clamped
// to the valid range, so that no data can make a kernel read out of bounds.
#include <algorithm>

#include "backends/halide/build/build_kernel.h"

namespace intarsia::halide {
namespace {

using Halide::cast;
using Halide::clamp;
using Halide::select;

Expr size(int64_t number) { return static_cast<int>(number); }

Exprs slice_index(const KernelBuilder& b, const Node& node, Exprs index) {
  const auto [starts, steps] = attributes_of<SliceAttributes>(node);
  for (size_t i = 0; i < index.size(); ++i) index[i] = b.size(starts[i]) + index[i] * size(steps[i]);
  return index;
}

Exprs tile_index(const KernelBuilder& b, const SymbolicShape& from, Exprs index) {
  for (size_t i = 0; i < index.size(); ++i) index[i] = from[i] == 1 ? Expr(0) : index[i] % b.size(from[i]);
  return index;
}

Exprs transpose_index(const Node& node, const Exprs& index) {
  const std::vector<int64_t> perm = attributes_of<TransposeAttributes>(node).perm;
  Exprs at = index;
  for (size_t i = 0; i < perm.size(); ++i) at[static_cast<size_t>(perm[i])] = index[i];
  return at;
}

/// Returns the index of the element at the same place in row-major order of other sizes.
Exprs reshape_index(const KernelBuilder& b, const SymbolicShape& from, const SymbolicShape& to,
                    const Exprs& index) {
  Expr flat = 0;
  for (size_t i = 0; i < to.size(); ++i) flat = flat * b.size(to[i]) + index[i];
  Exprs at(from.size());
  for (size_t i = from.size(); i-- > 0;) {
    at[i] = i == 0 ? flat : flat % b.size(from[i]);
    flat = flat / b.size(from[i]);
  }
  return at;
}

/// Returns the place in an axis that fills a place outside of it. Padding that is known to be less than the
/// axis needs no division.
Expr filling_place(const KernelBuilder& b, PadMode mode, const Expr& at, const Dim& from, const Dim& begin,
                   const Dim& to) {
  const Expr extent = b.size(from), last = b.size(from - 1);
  const Dim most = mode == PadMode::reflect ? from - 1 : from;
  const bool is_short =
      provably_nonnegative(most - begin) && provably_nonnegative(most - (to - from - begin));
  if (mode == PadMode::reflect)
    return last - Halide::abs(last - (is_short ? Halide::abs(at) : at % Halide::max(2 * last, 1)));
  if (mode == PadMode::wrap)
    return is_short ? select(at<0, at + extent, at> last, at - extent, at) : at % Halide::max(extent, 1);
  return at;
}

Expr pad(KernelBuilder& b, const Node& node, Exprs index) {
  const auto [begin, mode] = attributes_of<PadAttributes>(node);
  const SymbolicShape &from = b.sizes(node.inputs[0]), &to = b.sizes(node.outputs[0]);
  Expr inside = Halide::Internal::make_bool(true);
  for (size_t i = 0; i < from.size(); ++i) {
    if (begin[i] == 0 && to[i] == from[i]) continue;
    const Expr at = index[i] - b.size(begin[i]), last = b.size(from[i] - 1);
    if (!provably_nonnegative(0 - begin[i])) inside = inside && at >= 0;
    if (!provably_nonnegative(from[i] + begin[i] - to[i])) inside = inside && at <= last;
    index[i] = clamp(cast<int>(filling_place(b, mode, at, from[i], begin[i], to[i])), 0, last);
  }
  Expr value = b.operand(node.inputs[0]).at(index);
  return mode == PadMode::constant ? select(inside, value, b.operand(node.inputs[1]).at({})) : value;
}

Expr gather(KernelBuilder& b, const Node& node, const Exprs& index) {
  auto axis = static_cast<size_t>(attributes_of<AxisAttributes>(node).axis);
  const SymbolicShape &data = b.sizes(node.inputs[0]), &places = b.sizes(node.inputs[1]);
  auto middle = index.begin() + static_cast<ptrdiff_t>(axis);
  Exprs which(middle, middle + static_cast<ptrdiff_t>(places.size())), at(index.begin(), middle);
  at.push_back(data_index(b.operand(node.inputs[1]).at(which), b.size(data[axis])));
  at.insert(at.end(), middle + static_cast<ptrdiff_t>(places.size()), index.end());
  return b.operand(node.inputs[0]).at(at);
}

Expr gather_elements(KernelBuilder& b, const Node& node, Exprs index) {
  auto axis = static_cast<size_t>(attributes_of<AxisAttributes>(node).axis);
  index[axis] = data_index(b.operand(node.inputs[1]).at(index), b.size(b.sizes(node.inputs[0])[axis]));
  return b.operand(node.inputs[0]).at(index);
}

Expr gather_nd(KernelBuilder& b, const Node& node, const Exprs& index) {
  auto batch = static_cast<size_t>(attributes_of<GatherNdAttributes>(node).batch_dims);
  const SymbolicShape &data = b.sizes(node.inputs[0]), &places = b.sizes(node.inputs[1]);
  size_t prefix = places.size() - 1;
  Exprs at(index.begin(), index.begin() + static_cast<ptrdiff_t>(batch));
  for (int64_t k = 0; k < places.back().number(); ++k) {
    Exprs which(index.begin(), index.begin() + static_cast<ptrdiff_t>(prefix));
    which.push_back(size(k));
    at.push_back(data_index(b.operand(node.inputs[1]).at(which), b.size(data[at.size()])));
  }
  at.insert(at.end(), index.begin() + static_cast<ptrdiff_t>(prefix), index.end());
  return b.operand(node.inputs[0]).at(at);
}

Expr one_hot(KernelBuilder& b, const Node& node, Exprs index) {
  auto axis = static_cast<size_t>(attributes_of<AxisAttributes>(node).axis);
  const Expr depth = b.size(b.sizes(node.outputs[0])[axis]);
  Expr level = index[axis];
  index.erase(index.begin() + static_cast<ptrdiff_t>(axis));
  Expr place = cast<int64_t>(b.operand(node.inputs[0]).at(index));
  Expr hot = select(place < 0, place + cast<int64_t>(depth), place) == cast<int64_t>(level);
  const Operand& values = b.operand(node.inputs[1]);
  return select(hot, values.at({1}), values.at({0}));
}

Expr trilu(KernelBuilder& b, const Node& node, const Exprs& index) {
  const TriluAttributes attributes = attributes_of<TriluAttributes>(node);
  Expr diagonal = index[index.size() - 1] - index[index.size() - 2], k = size(attributes.k);
  Expr keep = attributes.upper ? diagonal >= k : diagonal <= k;
  return select(keep, b.operand(node.inputs[0]).at(index),
                Halide::Internal::make_zero(b.type(node.outputs[0])));
}

Expr reverse_sequence(KernelBuilder& b, const Node& node, Exprs index) {
  const auto [batch_axis, time_axis] = attributes_of<ReverseSequenceAttributes>(node);
  const auto batch = static_cast<size_t>(batch_axis), time = static_cast<size_t>(time_axis);
  const Expr steps = b.size(b.sizes(node.inputs[0])[time]);
  const Expr length = clamp(cast<int>(b.operand(node.inputs[1]).at({index[batch]})), 0, steps);
  index[time] = clamp(select(index[time] < length, length - 1 - index[time], index[time]), 0,
                      Halide::max(steps - 1, 0));
  return b.operand(node.inputs[0]).at(index);
}

/// Returns whether a step lies before the end of a row's sequence.
Expr sequence_mask(KernelBuilder& b, const Node& node, const Exprs& index) {
  return index[0] < cast<int>(b.operand(node.inputs[0]).at({index[1]}));
}

/// Computes a weighted sum of a few elements along one axis, from tables of places and weights [taps, out].
Expr interpolate(KernelBuilder& b, const Node& node, Exprs index) {
  auto axis = static_cast<size_t>(attributes_of<AxisAttributes>(node).axis);
  Expr out = index[axis], sum = 0.0f;
  const int64_t taps = b.sizes(node.inputs[1])[0].number();
  const Expr last = b.size(b.sizes(node.inputs[0])[axis] - 1);
  for (int64_t k = 0; k < taps; ++k) {
    index[axis] = clamp(b.operand(node.inputs[1]).at({size(k), out}), 0, last);
    sum += b.operand(node.inputs[2]).at({size(k), out}) * b.operand(node.inputs[0]).at(index);
  }
  return sum;
}

/// Returns an element of what has no inputs.
Expr build_from_sizes(const KernelBuilder& b, const Node& node, const Exprs& index) {
  const Halide::Type type = b.type(node.outputs[0]);
  if (op_of(node) == CoreOp::elements) {
    Exprs elements;
    for (const Dim& element : attributes_of<ElementsAttributes>(node).elements)
      elements.push_back(cast(type, b.size(element, Halide::Int(64))));
    return elements.size() == 1 ? elements[0] : Halide::mux(index.back(), elements);
  }
  if (op_of(node) == CoreOp::range) {
    const auto [start, step] = attributes_of<RangeAttributes>(node);
    return cast(type, b.size(start, Halide::Int(64)) + cast<int64_t>(index[0]) * Expr(step));
  }
  return build_resize_table(b, node, index);
}

/// Returns an element of a cache, or the update that it got.
Expr tensor_scatter(KernelBuilder& b, const Node& node, const Exprs& index) {
  const auto [axis, circular] = attributes_of<TensorScatterAttributes>(node);
  const auto along = static_cast<size_t>(axis);
  const Expr places = b.size(b.sizes(node.inputs[0])[along]),
             updates = b.size(b.sizes(node.inputs[1])[along]),
             first = b.operand(node.inputs[2]).at({index[0]});
  Expr past = index[along] - cast<int>(circular ? first % Halide::max(places, 1) : first);
  if (circular) past = select(past < 0, past + places, past);
  Exprs at = index;
  at[along] = clamp(past, 0, Halide::max(updates - 1, 0));
  return select(past >= 0 && past < updates, b.operand(node.inputs[1]).at(at),
                b.operand(node.inputs[0]).at(index));
}

}  // namespace

Expr data_index(Expr raw, const Expr& extent) {
  const Expr place = cast<int>(std::move(raw));
  return clamp(select(place < 0, place + extent, place), 0, extent - 1);
}

Expr build_movement(KernelBuilder& b, const Node& node, const Exprs& index) {
  if (node.inputs.empty()) return build_from_sizes(b, node, index);
  const Operand& from = b.operand(node.inputs[0]);
  switch (op_of(node)) {
    case CoreOp::pad:
      return pad(b, node, index);
    case CoreOp::gather:
      return gather(b, node, index);
    case CoreOp::gather_elements:
      return gather_elements(b, node, index);
    case CoreOp::gather_nd:
      return gather_nd(b, node, index);
    case CoreOp::one_hot:
      return one_hot(b, node, index);
    case CoreOp::trilu:
      return trilu(b, node, index);
    case CoreOp::reverse_sequence:
      return reverse_sequence(b, node, index);
    case CoreOp::sequence_mask:
      return sequence_mask(b, node, index);
    case CoreOp::tensor_scatter:
      return tensor_scatter(b, node, index);
    case CoreOp::grid_sample:
    case CoreOp::deform_sample:
      return build_sample(b, node, index);
    case CoreOp::interpolate:
      return interpolate(b, node, index);
    case CoreOp::slice:
      return from.at(slice_index(b, node, index));
    case CoreOp::reshape:
      return from.at(reshape_index(b, from.shape, b.sizes(node.outputs[0]), index));
    case CoreOp::expand:
      return b.broadcast_at(node.inputs[0], index);
    case CoreOp::tile:
      return from.at(tile_index(b, from.shape, index));
    case CoreOp::transpose:
      return from.at(transpose_index(node, index));
    case CoreOp::copy:
      return from.at(index);
    default:
      INTARSIA_CHECK(false);  // other operators do not move elements
      return {};
  }
}

}  // namespace intarsia::halide
