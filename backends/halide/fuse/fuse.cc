#include "backends/halide/fuse/fuse.h"

#include <algorithm>
#include <set>

#include "backends/halide/core/core_attributes.h"

namespace intarsia::halide {
namespace {

/// Reduction that joins the reductions of a group: same input sizes, same axes.
struct Reduction {
  SymbolicShape full, reduced;
  std::vector<int64_t> axes;
};

std::optional<Reduction> reduction_of(const Graph& graph, const Node& node) {
  if (form_of(node) != Form::reduction) return std::nullopt;
  return Reduction{sizes_of(graph, node.inputs[0]), sizes_of(graph, node.outputs[0]), reduced_axes(node)};
}

class Fuser {
 public:
  Fuser(const Layouts& layouts, KernelDevice device)
      : layouts_(layouts),
        is_offloaded_(device != KernelDevice::cpu),
        graph_(layouts.graph),
        readers_(find_readers(layouts.graph)),
        taken_(graph_.nodes.size(), false) {}

  std::vector<Group> run() {
    // Attentions come first, so that no other group takes their masks.
    for (size_t n = 0; n < graph_.nodes.size() && !is_offloaded_; ++n)
      if (const auto attention = find_attention(graph_, readers_, NodeId(n)); attention && wins(*attention))
        groups_.push_back(grow_attention(*attention));
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (taken_[n] || layouts_.is_view[n] || form_of(graph_.nodes[n]) == Form::concat) continue;
      groups_.push_back(grow(NodeId(n)));
    }
    // A group takes the place of its last node: everything that it reads is computed before.
    std::ranges::sort(groups_, {}, [](const Group& group) { return group.nodes.back(); });
    return std::move(groups_);
  }

 private:
  const SymbolicShape& shape(ValueId id) const { return sizes_of(graph_, id); }

  Group grow(NodeId start) {
    const Node& first = graph_.node(start);
    Form form = form_of(first);
    Group group{form == Form::view ? Form::movement : form, {start}, first.outputs[0]};
    taken_[index(start)] = true;
    std::optional<Reduction> reduction = reduction_of(graph_, first);
    while (extend(group, reduction)) {
    }
    std::ranges::sort(group.nodes);
    return group;
  }

  /// Checks whether to compute an attention in one kernel. Time of one kernel versus three, in us, heads x
  /// length x channels of a head, on one thread of a Zen 4:
  ///   12x64x64 135, 158      12x128x64 516, 533    12x197x64 1254, 1301
  ///   12x256x64 2064, 2105   12x512x64 8299, 9777  8x128x32 192, 208
  ///   8x197x32 471, 507      6x64x128 126, 137     6x128x128 481, 489
  ///   6x1024x128 31463, 32542
  /// and on two threads: 12x128x64 278, 321; 12x197x64 631, 701; 12x512x64 4284, 5325. Therefore one kernel
  /// wherever possible. But constants are better packed at compile time, and only a separate product packs
  /// values whose channels are not contiguous.
  bool wins(const AttentionNodes& attention) const {
    const ValueId keys = graph_.node(attention.scores).inputs[1],
                  values = graph_.node(attention.product).inputs[1];
    return std::ranges::none_of(attention.all(), [&](NodeId node) { return taken_[index(node)]; }) &&
           !graph_.value(keys).constant && !graph_.value(values).constant &&
           shape(graph_.node(attention.scores).inputs[0]).back().is_number() &&
           shape(values).back().is_number() && layouts_.storage[index(values)].strides.back() == 1;
  }

  Group grow_attention(const AttentionNodes& attention) {
    Group group{Form::attention, attention.all(), graph_.node(attention.product).outputs[0], attention};
    for (NodeId node : group.nodes) taken_[index(node)] = true;
    std::optional<Reduction> reduction;
    while (extend(group, reduction)) {
    }
    return group;
  }

  bool is_region_output(ValueId value) const {
    return std::ranges::find(graph_.outputs, value) != graph_.outputs.end();
  }

  /// Checks whether a node may be computed inside the group, whose output so far has the sizes of `tail`.
  bool fits(const Node& node, ValueId tail, const Group& group, std::optional<Reduction>& reduction) const {
    const SymbolicShape& out = shape(node.outputs[0]);
    if (form_of(node) == Form::elementwise)
      return reduction ? out == reduction->full || out == reduction->reduced : out == shape(tail);
    if (group.form != Form::elementwise && group.form != Form::reduction) return false;
    if (takes_as_prologue(node, tail)) return group.form == Form::elementwise && !reduction;
    std::optional<Reduction> other = reduction_of(graph_, node);
    if (!other || op_of(node) == CoreOp::arg_max || op_of(node) == CoreOp::arg_min) return false;
    if (!reduction && other->full == shape(tail)) {
      reduction = other;
      return true;
    }
    return reduction && other->full == reduction->full && other->axes == reduction->axes;
  }

  /// Checks for prologue fusion: a convolution computes elementwise operators before it while it copies its
  /// input's rows.
  bool takes_as_prologue(const Node& node, ValueId input) const {
    if (is_offloaded_ || op_of(node) != CoreOp::conv || node.inputs[0] != input) return false;
    const ConvAttributes conv = attributes_of<ConvAttributes>(node);
    return conv.group == 1 && all_are(conv.input_dilations, 1) &&
           std::ranges::count(node.inputs, input) == 1 && readers_[index(input)].size() == 1;
  }

  /// Adds the smallest set of readers after which again only one value is read from outside, if all of them
  /// fit.
  bool extend(Group& group, std::optional<Reduction>& reduction) {
    constexpr size_t max_nodes = 24;  // limit of one extension: keeps expressions small
    constexpr size_t max_group = 20;  // limit before it; a kernel has up to 96 buffers (region_executable.h)
    const bool is_alone = group.form == Form::recurrence || group.form == Form::scatter ||
                          group.form == Form::routine || (is_offloaded_ && group.form == Form::scan);
    if (is_alone || is_region_output(group.output) || group.nodes.size() > max_group) return false;
    std::set<ValueId> live{group.output};
    std::set<NodeId> added;
    std::optional<Reduction> grown_reduction = reduction;
    while (added.size() < max_nodes) {
      NodeId next = no_node;
      for (ValueId value : live)
        for (NodeId reader : readers_[index(value)])
          if (!added.contains(reader)) next = std::min(next, reader);
      if (next == no_node || taken_[index(next)] || layouts_.is_view[index(next)]) return false;
      const Node& node = graph_.node(next);
      if (!fits(node, group.output, group, grown_reduction)) return false;
      if (added.empty() && is_left_to_reduction(node, group)) return false;
      added.insert(next);
      add_inputs_beside(node, group, added);
      live.insert(node.outputs[0]);
      std::erase_if(live, [&](ValueId value) {
        const auto& readers = readers_[index(value)];
        return !readers.empty() && !is_region_output(value) &&
               std::ranges::all_of(readers, [&](NodeId reader) { return added.contains(reader); });
      });
      if (live.size() == 1 && *live.begin() == node.outputs[0]) break;
    }
    if (live.size() != 1 || added.empty() || !live.contains(graph_.node(*added.rbegin()).outputs[0]))
      return false;
    commit(group, added, *live.begin());
    if (grown_reduction && !reduction) group.form = Form::reduction;
    for (NodeId node : added)
      if (form_of(graph_.node(node)) == Form::contraction) group.form = Form::contraction;
    reduction = grown_reduction;
    return true;
  }

  /// Checks for a node that only makes an f32 of what has fewer bits in memory.
  bool widens(const Node& node) const {
    const auto bits = [&](ValueId value) { return dtype_bits(graph_.value(value).type.dtype); };
    return op_of(node) == CoreOp::dequantize ||
           (op_of(node) == CoreOp::cast && bits(node.inputs[0]) == 16 && bits(node.outputs[0]) == 32);
  }

  /// Checks for a node that makes numbers of integers of 8 bits for a reduction alone: the reduction makes
  /// them where it reads them, so that memory holds a quarter of the bytes.
  bool is_left_to_reduction(const Node& node, const Group& group) const {
    if (group.form != Form::contraction && group.form != Form::window) return false;
    const std::vector<NodeId>& readers = readers_[index(node.outputs[0])];
    return op_of(node) == CoreOp::dequantize && dtype_bits(graph_.value(node.inputs[0]).type.dtype) == 8 &&
           readers.size() == 1 && form_of(graph_.node(readers[0])) == Form::reduction &&
           !is_region_output(node.outputs[0]);
  }

  /// Adds what only the node reads, beside the group, if it costs nothing there: numbers of integers of 8
  /// bits or of 16 bits, and beside elementwise operators and movements also elementwise ones, with what only
  /// they read.
  ///   %p = Mul(%a, %c), %q = Mul(%b, %s), %y = Sub(%p, %q)   =>   one kernel
  void add_inputs_beside(const Node& node, const Group& group, std::set<NodeId>& added) const {
    const bool is_pointwise = group.form == Form::elementwise || group.form == Form::movement;
    for (ValueId input : node.inputs) {
      const NodeId maker = graph_.value(input).producer;
      if (maker == no_node || maker < group.nodes.front() || taken_[index(maker)] || added.contains(maker))
        continue;
      const bool is_alone = readers_[index(input)].size() == 1 && !is_region_output(input);
      if (!is_alone || shape(input) != shape(group.output)) continue;
      const Node& beside = graph_.node(maker);
      if (widens(beside)) {
        added.insert(maker);
      } else if (is_pointwise && form_of(beside) == Form::elementwise) {
        added.insert(maker);
        add_inputs_beside(beside, group, added);
      }
    }
  }

  void commit(Group& group, const std::set<NodeId>& added, ValueId output) {
    for (NodeId node : added) taken_[index(node)] = true;
    group.nodes.insert(group.nodes.end(), added.begin(), added.end());
    group.output = output;
  }

  const Layouts& layouts_;
  bool is_offloaded_;
  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> taken_;
  std::vector<Group> groups_;
};

}  // namespace

std::vector<Group> fuse(const Layouts& layouts, KernelDevice device) { return Fuser(layouts, device).run(); }

std::string print_groups(const Layouts& layouts, const std::vector<Group>& groups) {
  std::string text;
  for (const Group& group : groups) {
    text += fmt::format("%{} =", layouts.graph.value(group.output).name);
    for (NodeId node : group.nodes) text += " " + layouts.graph.node(node).op;
    text += "\n";
  }
  return text;
}

}  // namespace intarsia::halide
