#include "backends/halide/canonicalize/simplify.h"

#include <algorithm>
#include <optional>
#include <set>

#include "backends/halide/canonicalize/hoist_strides.h"
#include "backends/halide/canonicalize/tabulate.h"
#include "backends/halide/core/core_attributes.h"

namespace intarsia::halide {
namespace {

bool is_output(const Graph& graph, ValueId id) {
  return std::ranges::find(graph.outputs, id) != graph.outputs.end();
}

void set_producers(Graph& graph) {
  for (Value& value : graph.values) value.producer = no_node;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (ValueId output : graph.nodes[n].outputs) graph.value(output).producer = NodeId(n);
}

void remove_dead_nodes(Graph& graph) {
  std::set<ValueId> used(graph.outputs.begin(), graph.outputs.end());
  std::vector<Node> kept;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    if (node.outputs.empty() || !used.contains(node.outputs[0])) continue;
    used.insert(node.inputs.begin(), node.inputs.end());
    kept.push_back(std::move(node));
  }
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
  set_producers(graph);
}

/// Makes a view of a view a view of the first tensor.
void merge_views(Graph& graph) {
  for (Node& node : graph.nodes) {
    const CoreOp op = op_of(node);
    if (op != CoreOp::reshape && op != CoreOp::transpose) continue;
    NodeId before = graph.value(node.inputs[0]).producer;
    if (before == no_node || op_of(graph.node(before)) != op) continue;
    const Node& first = graph.node(before);
    if (op == CoreOp::transpose) {
      const std::vector<int64_t> inner = attributes_of<TransposeAttributes>(first).perm;
      TransposeAttributes both = attributes_of<TransposeAttributes>(node);
      for (int64_t& axis : both.perm) axis = inner[static_cast<size_t>(axis)];
      set_attributes(node, both);
    }
    node.inputs[0] = first.inputs[0];
  }
}

// ---- constants per channel after a convolution ----

/// Factor and summand of each output channel.
struct ChannelLine {
  std::vector<float> scale, shift;
  bool scaled = false, shifted = false;
};

/// Returns the other input of `node` as one number per channel; nullopt if it has no such form.
std::optional<std::vector<float>> channel_constant(const Graph& graph, const Node& node, ValueId x,
                                                   int64_t channels) {
  if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return std::nullopt;
  ValueId other = node.inputs[0] == x ? node.inputs[1] : node.inputs[0];
  const auto& constant = graph.value(other).constant;
  if (!constant || constant->dtype() != DType::f32 || sizes_of(graph, node.outputs[0]) != sizes_of(graph, x))
    return std::nullopt;
  Shape shape = constant->shape();
  size_t rank = sizes_of(graph, x).size();
  int64_t count = element_count(shape);
  bool along_channels =
      shape.size() >= rank - 1 && shape[shape.size() - rank + 1] == channels && count == channels;
  auto numbers = constant->as<float>();
  if (count == 1) return std::vector<float>(static_cast<size_t>(channels), numbers[0]);
  if (!along_channels) return std::nullopt;
  return std::vector<float>(numbers.begin(), numbers.end());
}

bool take(ChannelLine& line, const Graph& graph, const Node& node, ValueId x) {
  bool multiply = op_of(node) == CoreOp::mul, add = op_of(node) == CoreOp::add;
  if (!multiply && !add) return false;
  auto numbers = channel_constant(graph, node, x, static_cast<int64_t>(line.scale.size()));
  if (!numbers) return false;
  for (size_t c = 0; c < line.scale.size(); ++c) {
    if (multiply)
      line.scale[c] *= (*numbers)[c], line.shift[c] *= (*numbers)[c];
    else
      line.shift[c] += (*numbers)[c];
  }
  (multiply ? line.scaled : line.shifted) = true;
  return true;
}

Tensor scale_weights(const Tensor& weights, const std::vector<float>& scale) {
  Tensor scaled(weights.dtype(), weights.shape());
  size_t each = weights.as<float>().size() / scale.size();
  for (size_t i = 0; i < scaled.as<float>().size(); ++i)
    scaled.as<float>()[i] = weights.as<float>()[i] * scale[i / each];
  return scaled;
}

/// Folds a chain of Mul and Add after a convolution into its weights and a single Add.
void fold_line(Graph& graph, Node& conv, const std::vector<std::vector<NodeId>>& readers) {
  const auto& weights = graph.value(conv.inputs[1]).constant;
  if (!weights || weights->dtype() != DType::f32) return;
  auto channels = static_cast<size_t>(weights->shape()[0]);
  ChannelLine line{std::vector<float>(channels, 1), std::vector<float>(channels, 0)};
  ValueId end = conv.outputs[0];
  NodeId last = no_node;
  int taken = 0;
  while (!is_output(graph, end) && readers[index(end)].size() == 1) {
    NodeId next = readers[index(end)][0];
    if (!take(line, graph, graph.node(next), end)) break;
    end = graph.node(next).outputs[0], last = next, ++taken;
  }
  if (taken < 2 && !line.scaled) return;
  if (line.scaled)
    conv.inputs[1] =
        graph.add_constant(fmt::format("folded{}", graph.values.size()), scale_weights(*weights, line.scale));
  if (!line.shifted) {
    conv.outputs[0] = end;
    graph.node(last).outputs.clear();
    return;
  }
  Shape shape(sizes_of(graph, end).size() - 1, 1);
  shape[0] = static_cast<int64_t>(channels);
  Tensor shift(DType::f32, shape);
  std::ranges::copy(line.shift, shift.as<float>().begin());
  ValueId constant = graph.add_constant(fmt::format("folded{}", graph.values.size()), shift);
  Node& end_node = graph.node(last);
  end_node = make_node(end_node.name, CoreOp::add, {conv.outputs[0], constant}, end_node.outputs);
}

void fold_channel_constants(Graph& graph) {
  auto readers = find_readers(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (op_of(graph.nodes[n]) == CoreOp::conv) fold_line(graph, graph.nodes[n], readers);
  set_producers(graph);
}

// ---- padding around the input of a convolution or pooling ----

/// Pad of the spatial axes only, by one known number.
struct Frame {
  double fill = 0;
  SymbolicShape begin, end;  // elements added to the spatial axes
};

std::optional<Frame> frame_before(const Graph& graph, const Node& node) {
  if (graph.value(node.inputs[0]).producer == no_node) return std::nullopt;
  const Node& pad = graph.node(graph.value(node.inputs[0]).producer);
  if (op_of(pad) != CoreOp::pad) return std::nullopt;
  const auto [begin, mode] = attributes_of<PadAttributes>(pad);
  if (mode != PadMode::constant) return std::nullopt;
  const auto& fill = graph.value(pad.inputs[1]).constant;
  const std::optional<double> number = fill ? read_scalar(*fill) : std::nullopt;
  const SymbolicShape &from = sizes_of(graph, pad.inputs[0]), &to = sizes_of(graph, pad.outputs[0]);
  if (!number || from[0] != to[0] || from[1] != to[1] || begin[0] != 0 || begin[1] != 0) return std::nullopt;
  Frame frame{*number, {}, {}};
  for (size_t i = 2; i < from.size(); ++i) {
    frame.begin.push_back(begin[i]);
    frame.end.push_back(to[i] - from[i] - begin[i]);
    if (!provably_nonnegative(frame.begin.back()) || !provably_nonnegative(frame.end.back()))
      return std::nullopt;
  }
  return frame;
}

/// Adds the frame to the padding of a convolution, if that has the same number.
bool take_into_conv(Node& conv, const Frame& frame) {
  ConvAttributes attributes = attributes_of<ConvAttributes>(conv);
  if (frame.fill != static_cast<double>(attributes.pad_value) || !all_are(attributes.input_dilations, 1))
    return false;
  for (size_t i = 0; i < frame.begin.size(); ++i) attributes.pads[i] = attributes.pads[i] + frame.begin[i];
  set_attributes(conv, attributes);
  return true;
}

/// Adds the frame to a pooling, if that has no padding of its own and its last window ends inside the padded
/// input.
bool take_into_pool(Node& pool, const Frame& frame, const SymbolicShape& padded, const SymbolicShape& out) {
  PoolAttributes a = attributes_of<PoolAttributes>(pool);
  if (!all_are(a.pads, 0) || a.fill) return false;
  for (size_t i = 0; i < a.kernel.size(); ++i) {
    const Dim last = (out[i + 2] - 1) * a.strides[i] + (a.kernel[i] - 1) * a.dilations[i];
    if (!provably_nonnegative(padded[i + 2] - 1 - last)) return false;
  }
  a.pads = frame.begin;
  a.pads.insert(a.pads.end(), frame.end.begin(), frame.end.end());
  a.fill = static_cast<float>(frame.fill);
  set_attributes(pool, a);
  return true;
}

void fold_padding(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (op_of(node) != CoreOp::conv && op_of(node) != CoreOp::max_pool) continue;
    const std::optional<Frame> frame = frame_before(graph, node);
    if (!frame) continue;
    const bool taken =
        op_of(node) == CoreOp::conv
            ? take_into_conv(node, *frame)
            : take_into_pool(node, *frame, sizes_of(graph, node.inputs[0]), sizes_of(graph, node.outputs[0]));
    if (taken) node.inputs[0] = graph.node(graph.value(node.inputs[0]).producer).inputs[0];
  }
}

// ---- reshapes after matrix products ----

class ReshapeSinker {
 public:
  explicit ReshapeSinker(Graph& graph) : graph_(graph) {}

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      if (op_of(node) == CoreOp::matmul) products_.insert(node.outputs[0]);
      if (form_of(node) == Form::elementwise && sink(node)) continue;
      add(std::move(node));
    }
    set_producers(graph_);
  }

 private:
  void add(Node node) {
    graph_.value(node.outputs[0]).producer = NodeId(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
  }

  /// Returns the product (or elementwise result of one) of which a value is a reshape; nullopt if it is not
  /// one.
  std::optional<ValueId> source(ValueId value) const {
    NodeId producer = graph_.value(value).producer;
    if (producer == no_node || op_of(graph_.node(producer)) != CoreOp::reshape) return std::nullopt;
    ValueId from = graph_.node(producer).inputs[0];
    return products_.contains(from) ? std::optional(from) : std::nullopt;
  }

  ValueId reshaped(ValueId value, const SymbolicShape& sizes) {
    if (sizes_of(graph_, value) == sizes) return value;
    const Value from = graph_.value(value);
    std::string name = fmt::format("sunk{}", graph_.values.size());
    if (const std::optional<Shape> shape = static_shape(sizes); from.constant && shape)
      return graph_.add_constant(
          name, Tensor(TensorView{from.constant->data(), from.type.dtype, *shape}, from.constant->owner()));
    NodeId producer = from.producer;
    if (producer != no_node && op_of(graph_.node(producer)) == CoreOp::reshape &&
        sizes_of(graph_, graph_.node(producer).inputs[0]) == sizes)
      return graph_.node(producer).inputs[0];
    ValueId to = graph_.add_value(name, {from.type.dtype, sizes});
    add(make_node(name, CoreOp::reshape, {value}, {to}));
    return to;
  }

  /// Returns the shape of an input in the sizes before the reshape: of all of it, its last axis, or one
  /// number; nullopt for other inputs.
  std::optional<SymbolicShape> shape_before(ValueId input, const SymbolicShape& out,
                                            const SymbolicShape& before) const {
    const SymbolicShape& sizes = sizes_of(graph_, input);
    if (sizes == out) return before;
    const Dim count = product_of_dims(sizes, 0, sizes.size());
    if (count == 1) return SymbolicShape{};
    if (sizes.back() == count && count == out.back() && count == before.back()) return SymbolicShape{count};
    return std::nullopt;
  }

  bool sink(const Node& node) {
    const SymbolicShape out = sizes_of(graph_, node.outputs[0]);
    SymbolicShape before;
    for (ValueId input : node.inputs)
      if (auto from = source(input); from && sizes_of(graph_, input) == out) before = sizes_of(graph_, *from);
    if (before.empty() || before == out) return false;
    std::vector<SymbolicShape> shapes;
    for (ValueId input : node.inputs) {
      auto shape = shape_before(input, out, before);
      if (!shape) return false;
      shapes.push_back(*shape);
    }
    Node moved = node;
    for (size_t i = 0; i < shapes.size(); ++i) moved.inputs[i] = reshaped(node.inputs[i], shapes[i]);
    ValueId result = graph_.add_value(fmt::format("sunk{}", graph_.values.size()),
                                      {graph_.value(node.outputs[0]).type.dtype, before});
    moved.outputs = {result};
    products_.insert(result);
    add(std::move(moved));
    add(make_node(node.name + "_shape", CoreOp::reshape, {result}, node.outputs));
    return true;
  }

  Graph& graph_;
  std::set<ValueId> products_;
};

/// Copies outputs of the region that are views: a node that writes memory must produce them.
void copy_view_outputs(Graph& graph) {
  for (ValueId& output : graph.outputs) {
    NodeId producer = graph.value(output).producer;
    if (producer == no_node || form_of(graph.node(producer)) != Form::view) continue;
    ValueId copy = graph.add_value(fmt::format("copy{}", graph.values.size()), graph.value(output).type);
    graph.add_node(make_node(fmt::format("copy{}", graph.nodes.size()), CoreOp::copy, {output}, {copy}));
    output = copy;
  }
}

}  // namespace

void simplify(Graph& graph) {
  merge_views(graph);
  fold_channel_constants(graph);
  remove_dead_nodes(graph);
  fold_padding(graph);
  ReshapeSinker(graph).run();
  tabulate(graph);
  merge_views(graph);
  remove_dead_nodes(graph);
  hoist_strides(graph);
  set_producers(graph);
  copy_view_outputs(graph);
  check_canonical(graph);
}

}  // namespace intarsia::halide
