#include "backends/halide/canonicalize/hoist_strides.h"

#include <algorithm>

#include "backends/halide/core/core_attributes.h"

namespace intarsia::halide {
namespace {

/// Step n along each spatial axis: only every n-th element is read.
using Steps = std::vector<int64_t>;

class StrideHoister {
 public:
  explicit StrideHoister(Graph& graph)
      : graph_(graph), readers_(find_readers(graph)), steps_(graph.values.size()) {}

  void run() {
    for (size_t n = graph_.nodes.size(); n-- > 0;) find_steps(graph_.nodes[n].outputs[0]);
    if (std::ranges::all_of(steps_, [](const Steps& steps) { return all_are(steps, 1); })) return;
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) rewrite(std::move(node));
  }

 private:
  const SymbolicShape& sizes(ValueId id) const { return sizes_of(graph_, id); }

  Steps ones(ValueId id) const {
    const size_t rank = sizes(id).size();
    return Steps(rank > 2 ? rank - 2 : 0, 1);
  }

  /// Returns the steps at which a reader needs `value`; ones if it needs all elements.
  Steps needed_by(const Node& reader, ValueId value) const {
    if (op_of(reader) == CoreOp::conv) {
      const bool is_data = reader.inputs[0] == value && std::ranges::count(reader.inputs, value) == 1;
      const SymbolicShape& weights = sizes(reader.inputs[1]);
      const bool pointwise =
          std::all_of(weights.begin() + 2, weights.end(), [](const Dim& taps) { return taps == 1; });
      const ConvAttributes conv = attributes_of<ConvAttributes>(reader);
      const bool plain = all_are(conv.pads, 0) && all_are(conv.input_dilations, 1);
      return is_data && pointwise && plain ? conv.strides : ones(value);
    }
    return form_of(reader) == Form::elementwise && sizes(value) == sizes(reader.outputs[0])
               ? steps_[index(reader.outputs[0])]
               : ones(value);
  }

  /// Checks whether a node can skip pixels: a Conv, or an elementwise node whose inputs are whole or the same
  /// for all pixels.
  bool can_skip(const Node& node) const {
    if (op_of(node) == CoreOp::conv) return true;
    if (form_of(node) != Form::elementwise) return false;
    const SymbolicShape& out = sizes(node.outputs[0]);
    return std::ranges::all_of(node.inputs, [&](ValueId input) {
      const SymbolicShape& in = sizes(input);
      const size_t spatial = std::min(out.size() - 2, in.size());
      return in == out || std::all_of(in.end() - static_cast<ptrdiff_t>(spatial), in.end(),
                                      [](const Dim& size) { return size == 1; });
    });
  }

  void find_steps(ValueId value) {
    Steps& steps = steps_[index(value)];
    steps = ones(value);
    const std::vector<NodeId>& readers = readers_[index(value)];
    const bool is_output = std::ranges::find(graph_.outputs, value) != graph_.outputs.end();
    if (steps.empty() || is_output || readers.empty() || !can_skip(graph_.node(graph_.value(value).producer)))
      return;
    const Steps wanted = needed_by(graph_.node(readers[0]), value);
    const bool agreed = std::ranges::all_of(
        readers, [&](NodeId reader) { return needed_by(graph_.node(reader), value) == wanted; });
    if (agreed) steps = wanted;
  }

  SymbolicShape sampled_sizes(ValueId value, const Steps& steps) const {
    SymbolicShape sampled = sizes(value);
    for (size_t i = 0; i < steps.size(); ++i) sampled[i + 2] = ceil_div(sampled[i + 2], steps[i]);
    return sampled;
  }

  /// Returns every n-th pixel of a value that is computed whole, as a view.
  ValueId sample(ValueId value, const Steps& steps) {
    const SymbolicShape sampled = sampled_sizes(value, steps);
    std::vector<int64_t> step(sampled.size(), 1);
    std::ranges::copy(steps, step.begin() + 2);
    const std::string name = fmt::format("sampled{}", graph_.values.size());
    const ValueId out = graph_.add_value(name, {graph_.value(value).type.dtype, sampled});
    const SliceAttributes attributes{SymbolicShape(sampled.size(), 0), step};
    graph_.add_node(make_node(name, CoreOp::slice, {value}, {out}, attributes));
    return out;
  }

  void rewrite(Node node) {
    const ValueId out = node.outputs[0];
    const Steps steps = steps_[index(out)];
    if (op_of(node) == CoreOp::conv) {
      ConvAttributes conv = attributes_of<ConvAttributes>(node);
      const Steps& taken = steps_[index(node.inputs[0])];  // steps that the input already has
      for (size_t i = 0; i < conv.strides.size(); ++i)
        conv.strides[i] = conv.strides[i] / (taken.empty() ? 1 : taken[i]) * steps[i];
      set_attributes(node, conv);
    } else if (!all_are(steps, 1)) {
      const SymbolicShape whole = sizes(out);
      for (ValueId& input : node.inputs) {
        const bool is_whole = sizes(input) == whole && all_are(steps_of(input), 1);
        if (is_whole) input = sample(input, steps);
      }
    }
    if (!all_are(steps, 1)) graph_.value(out).type.shape = sampled_sizes(out, steps);
    graph_.add_node(std::move(node));
  }

  Steps steps_of(ValueId value) const {
    return index(value) < steps_.size() ? steps_[index(value)] : ones(value);
  }

  Graph& graph_;
  const std::vector<std::vector<NodeId>> readers_;
  std::vector<Steps> steps_;  // indexed by the original values
};

}  // namespace

void hoist_strides(Graph& graph) { StrideHoister(graph).run(); }

}  // namespace intarsia::halide
