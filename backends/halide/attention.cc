#include "backends/halide/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/halide/core_ops.h"

namespace intarsia::halide {
namespace {

/// Of the two buffers, for scores and for exponents: a part of a usual second-level cache, which holds keys
/// and values, too.
constexpr int64_t buffer_bytes = 128 * 1024;

/// Rows that a block may have beyond that: with fewer the register tiles would be small.
constexpr int64_t least_rows = 12;

constexpr size_t most_between = 16;  // keeps expressions small

/// Schedules with this many rows a block and the cycles of each.
void rank_blocks(const AttentionSizes& sizes, const Isa& isa, int64_t rows,
                 std::vector<std::pair<double, AttentionSchedule>>& ranked) {
  constexpr int bytes = sizeof(float);
  const int64_t lanes = isa.lanes(bytes), keys = (sizes.keys + lanes - 1) / lanes * lanes;
  const auto depth = static_cast<double>(sizes.depth), channels = static_cast<double>(sizes.channels);
  const auto blocks = static_cast<double>((sizes.rows + rows - 1) / rows),
             steps = static_cast<double>(sizes.keys);
  const ContractionTile product = rank_contraction_tiles(isa, bytes, sizes.channels, {.width = rows})[0];
  const double of_product =
      steps * contraction_tile_cycles(isa, bytes, product, sizes.channels, {.width = rows});
  // Each block reads all keys and values, a vector in a tenth of a cycle beyond what the products hide.
  const double of_reads = 0.1 * steps * (depth + channels) / static_cast<double>(lanes);
  for (const ContractionTile& scores : rank_contraction_tiles(isa, bytes, keys, {.width = rows})) {
    // Panels of more than one vector take 4 to 7% longer than the estimate, measured with 128 and 197 keys.
    const double wide = scores.panel > scores.lanes ? 1.05 : 1;
    const double of_scores =
        wide * depth * contraction_tile_cycles(isa, bytes, scores, keys, {.width = rows});
    // A last tile that begins earlier needs loops of its own: 64 rows by 13 take 12% longer than by 16.
    const double rest = rows % scores.pixels + rows % product.pixels > 0 ? 1.05 : 1;
    ranked.push_back({blocks * rest * (of_scores + of_product + of_reads), {scores, product, rows}});
  }
}

/// Follows values from a node to the next.
class Matcher {
 public:
  Matcher(const Graph& graph, const std::vector<std::vector<NodeId>>& readers)
      : graph_(graph), readers_(readers) {}

  std::optional<AttentionNodes> match(NodeId scores) const {
    AttentionNodes found{};
    found.scores = scores;
    ValueId value = output(scores);
    const Shape full = shape(value);
    if (graph_.node(scores).op != "MatMul" || !is_f32(value)) return {};
    for (std::optional<NodeId> next = only_reader(value); next; next = only_reader(value)) {
      const Node& node = graph_.node(*next);
      const bool fits =
          form_of(node) == Form::elementwise && shape(output(*next)) == full && is_f32(output(*next));
      if (!fits || found.between.size() == most_between) return {};
      found.between.push_back(*next);
      value = output(*next);
    }
    return match_softmax(found, value) && match_product(found) ? std::optional(found) : std::nullopt;
  }

 private:
  ValueId output(NodeId node) const { return graph_.node(node).outputs[0]; }
  Shape shape(ValueId value) const { return *graph_.value(value).type.fixed_shape(); }
  bool is_f32(ValueId value) const { return graph_.value(value).type.dtype == DType::f32; }
  bool is_inside(ValueId value) const {
    return std::ranges::find(graph_.outputs, value) == graph_.outputs.end();
  }

  std::optional<NodeId> only_reader(ValueId value) const {
    const std::vector<NodeId>& nodes = readers_[index(value)];
    return nodes.size() == 1 && is_inside(value) ? std::optional(nodes[0]) : std::nullopt;
  }

  /// The readers of a value that only a reduction of its rows and an elementwise operator on both read.
  bool match_pair(ValueId value, const char* reduction, const char* op, NodeId& reduced, NodeId& made) const {
    const std::vector<NodeId>& nodes = readers_[index(value)];
    if (nodes.size() != 2 || !is_inside(value)) return false;
    reduced = nodes[0], made = nodes[1];
    const std::vector<int64_t> last{static_cast<int64_t>(shape(value).size()) - 1};
    const Node &first = graph_.node(reduced), &second = graph_.node(made);
    return first.op == reduction && first.attributes.get_ints("axes") == last && second.op == op &&
           second.inputs == std::vector{value, output(reduced)} && only_reader(output(reduced)) == made;
  }

  bool match_softmax(AttentionNodes& found, ValueId value) const {
    if (!match_pair(value, "ReduceMax", "Sub", found.largest, found.shifted)) return false;
    const std::optional<NodeId> exponents = only_reader(output(found.shifted));
    if (!exponents || graph_.node(*exponents).op != "Exp") return false;
    found.exponents = *exponents;
    return match_pair(output(*exponents), "ReduceSum", "Div", found.sum, found.probabilities);
  }

  bool match_product(AttentionNodes& found) const {
    const ValueId probabilities = output(found.probabilities);
    const std::optional<NodeId> product = only_reader(probabilities);
    if (!product) return false;
    const Node& node = graph_.node(*product);
    found.product = *product;
    const Shape from = shape(probabilities), to = shape(output(*product));
    if (!std::equal(from.begin(), from.end() - 1, to.begin(), to.end() - 1)) return false;
    return node.op == "MatMul" && node.inputs[0] == probabilities && node.inputs[1] != probabilities;
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

std::optional<AttentionNodes> find_attention(const Graph& graph,
                                             const std::vector<std::vector<NodeId>>& readers, NodeId scores) {
  return Matcher(graph, readers).match(scores);
}

AttentionSizes attention_sizes(const Graph& graph, const AttentionNodes& nodes) {
  auto shape = [&](ValueId value) { return *graph.value(value).type.fixed_shape(); };
  const Shape scores = shape(graph.node(nodes.scores).outputs[0]),
              out = shape(graph.node(nodes.product).outputs[0]);
  AttentionSizes sizes;
  sizes.batch = element_count(Shape(out.begin(), out.end() - 2));
  sizes.rows = out[out.size() - 2];
  sizes.keys = scores.back();
  sizes.depth = shape(graph.node(nodes.scores).inputs[0]).back();
  sizes.channels = out.back();
  return sizes;
}

std::string print_schedule(const AttentionSchedule& schedule) {
  const ContractionTile &scores = schedule.scores, &product = schedule.product;
  return fmt::format("{} rows, scores {} x {} of {}, product {} x {} of {}", schedule.rows, scores.pixels,
                     scores.panel, scores.lanes, product.pixels, product.panel, product.lanes);
}

std::vector<AttentionSchedule> attention_schedules(const AttentionSizes& sizes, const Isa& isa, size_t most) {
  std::vector<std::pair<double, AttentionSchedule>> ranked;
  int64_t rows = 0;
  for (int64_t blocks = 1; rows != 1; ++blocks) {
    if (rows == (sizes.rows + blocks - 1) / blocks) continue;
    rows = (sizes.rows + blocks - 1) / blocks;
    if (rows > least_rows && 2 * rows * sizes.keys * static_cast<int64_t>(sizeof(float)) > buffer_bytes)
      continue;
    rank_blocks(sizes, isa, rows, ranked);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, AttentionSchedule>::first);
  std::vector<AttentionSchedule> best;
  for (const auto& [cycles, schedule] : ranked) {
    auto same_panel = [&](const AttentionSchedule& other) {
      return other.scores.panel == schedule.scores.panel && other.scores.lanes == schedule.scores.lanes;
    };
    if (best.size() < most && std::ranges::none_of(best, same_panel)) best.push_back(schedule);
  }
  return best;
}

}  // namespace intarsia::halide
