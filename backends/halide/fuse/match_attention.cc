#include "backends/halide/fuse/match_attention.h"

#include <algorithm>

#include "backends/halide/core/core_attributes.h"

namespace intarsia::halide {
namespace {

constexpr size_t max_between = 16;  // limit that keeps expressions small

/// Follows values from one node to the next.
class Matcher {
 public:
  Matcher(const Graph& graph, const std::vector<std::vector<NodeId>>& readers)
      : graph_(graph), readers_(readers) {}

  std::optional<AttentionNodes> match(NodeId scores) const {
    AttentionNodes found{};
    found.scores = scores;
    ValueId value = output(scores);
    const SymbolicShape& full = shape(value);
    if (op_of(graph_.node(scores)) != CoreOp::matmul || !is_f32(value)) return {};
    for (std::optional<NodeId> next = only_reader(value); next; next = only_reader(value)) {
      const Node& node = graph_.node(*next);
      const bool fits =
          form_of(node) == Form::elementwise && shape(output(*next)) == full && is_f32(output(*next));
      if (!fits || found.between.size() == max_between) return {};
      found.between.push_back(*next);
      value = output(*next);
    }
    return match_softmax(found, value) && match_product(found) ? std::optional(found) : std::nullopt;
  }

 private:
  ValueId output(NodeId node) const { return graph_.node(node).outputs[0]; }
  const SymbolicShape& shape(ValueId value) const { return sizes_of(graph_, value); }
  bool is_f32(ValueId value) const { return graph_.value(value).type.dtype == DType::f32; }
  bool is_inside(ValueId value) const {
    return std::ranges::find(graph_.outputs, value) == graph_.outputs.end();
  }

  std::optional<NodeId> only_reader(ValueId value) const {
    const std::vector<NodeId>& nodes = readers_[index(value)];
    return nodes.size() == 1 && is_inside(value) ? std::optional(nodes[0]) : std::nullopt;
  }

  /// Matches the two readers of a value: a reduction of its rows, and an elementwise operator that alone
  /// reads the reduced rows.
  bool match_pair(ValueId value, CoreOp reduction, CoreOp op, NodeId& reduced, NodeId& made) const {
    const std::vector<NodeId>& nodes = readers_[index(value)];
    if (nodes.size() != 2 || !is_inside(value)) return false;
    reduced = nodes[0], made = nodes[1];
    const std::vector<int64_t> last{static_cast<int64_t>(shape(value).size()) - 1};
    const Node &first = graph_.node(reduced), &second = graph_.node(made);
    return op_of(first) == reduction && reduced_axes(first) == last && op_of(second) == op &&
           second.inputs == std::vector{value, output(reduced)} && only_reader(output(reduced)) == made;
  }

  bool match_softmax(AttentionNodes& found, ValueId value) const {
    if (!match_pair(value, CoreOp::reduce_max, CoreOp::sub, found.largest, found.shifted)) return false;
    const std::optional<NodeId> exponents = only_reader(output(found.shifted));
    if (!exponents || op_of(graph_.node(*exponents)) != CoreOp::exp) return false;
    found.exponents = *exponents;
    return match_pair(output(*exponents), CoreOp::reduce_sum, CoreOp::div, found.sum, found.probabilities);
  }

  bool match_product(AttentionNodes& found) const {
    const ValueId probabilities = output(found.probabilities);
    const std::optional<NodeId> product = only_reader(probabilities);
    if (!product) return false;
    const Node& node = graph_.node(*product);
    found.product = *product;
    const SymbolicShape &from = shape(probabilities), &to = shape(output(*product));
    if (!std::equal(from.begin(), from.end() - 1, to.begin(), to.end() - 1)) return false;
    return op_of(node) == CoreOp::matmul && node.inputs[0] == probabilities &&
           node.inputs[1] != probabilities;
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>>& readers_;
};

}  // namespace

std::vector<NodeId> AttentionNodes::all() const {
  std::vector<NodeId> nodes{scores};
  nodes.insert(nodes.end(), between.begin(), between.end());
  nodes.insert(nodes.end(), {largest, shifted, exponents, sum, probabilities, product});
  return nodes;
}

AttentionNodes AttentionNodes::from_all(const std::vector<NodeId>& nodes) {
  constexpr size_t after = 6;  // number of nodes that follow those between
  INTARSIA_CHECK(nodes.size() > after);
  const auto end = nodes.end() - after;
  return {nodes[0], {nodes.begin() + 1, end}, end[0], end[1], end[2], end[3], end[4], end[5]};
}

std::optional<AttentionNodes> find_attention(const Graph& graph,
                                             const std::vector<std::vector<NodeId>>& readers, NodeId scores) {
  return Matcher(graph, readers).match(scores);
}

}  // namespace intarsia::halide
