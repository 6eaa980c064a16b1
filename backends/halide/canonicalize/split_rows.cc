#include "backends/halide/canonicalize/split_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "backends/halide/core/core_attributes.h"

namespace intarsia::halide {
namespace {

constexpr size_t row_axis = 2;

std::optional<int64_t> rows_of(const Graph& graph, ValueId value) {
  const SymbolicShape& sizes = sizes_of(graph, value);
  if (sizes.size() <= row_axis || !static_shape(sizes)) return std::nullopt;
  return sizes[row_axis].number();
}

template <typename Attributes>
std::optional<RowWindow> window_of(const Attributes& a, int64_t taps) {
  const size_t axes = a.strides.size();
  if (!a.pads[0].is_number() || !a.pads[axes].is_number()) return std::nullopt;
  const RowWindow window{a.strides[0], (taps - 1) * a.dilations[0] + 1, a.pads[0].number(),
                         a.pads[axes].number()};
  // A window that only touches padding has no row to read.
  const auto is_allowed = [&](int64_t pad) { return pad >= 0 && pad < window.reach; };
  if (!is_allowed(window.pad_before) || !is_allowed(window.pad_after)) return std::nullopt;
  return window;
}

/// Returns how a node's output rows follow from those of its input; nullopt if each may need all.
std::optional<RowWindow> row_window(const Graph& graph, const Node& node) {
  if (!rows_of(graph, node.outputs[0])) return std::nullopt;
  if (form_of(node) == Form::elementwise || op_of(node) == CoreOp::lrn) return RowWindow();
  if (op_of(node) == CoreOp::concat)
    return attributes_of<AxisAttributes>(node).axis == row_axis ? std::nullopt : std::optional(RowWindow());
  if (op_of(node) == CoreOp::max_pool || op_of(node) == CoreOp::average_pool) {
    const PoolAttributes pool = attributes_of<PoolAttributes>(node);
    return window_of(pool, pool.kernel[0]);
  }
  if (op_of(node) != CoreOp::conv) return std::nullopt;
  const ConvAttributes conv = attributes_of<ConvAttributes>(node);
  const bool rows_are_taps = conv.unfolded > 1 && conv.strides.size() == 1;
  if (conv.input_dilations[0] != 1 || rows_are_taps || !graph.value(node.inputs[1]).constant)
    return std::nullopt;
  return window_of(conv, shape_of(graph, node.inputs[1])[row_axis]);
}

/// Checks whether the node reads rows of the input: not the weights of a convolution, nor what is the same
/// for all rows.
bool reads_rows(const Graph& graph, const Node& node, size_t input) {
  const bool is_window = form_of(node) == Form::contraction || form_of(node) == Form::window;
  if (is_window) return input == 0;
  const SymbolicShape &out = sizes_of(graph, node.outputs[0]), &in = sizes_of(graph, node.inputs[input]);
  const size_t from_last = out.size() - row_axis;
  return in.size() >= from_last && (in[in.size() - from_last] != 1 || out[row_axis] == 1);
}

/// Checks whether the node can read strips of the input, a value of the part.
bool reads_strips(const Graph& graph, const Node& node, size_t input) {
  return reads_rows(graph, node, input) &&
         sizes_of(graph, node.inputs[input]).size() == sizes_of(graph, node.outputs[0]).size();
}

/// Returns the rows of the input that windows at these rows of the output touch, inside the input.
Rows input_rows(const RowWindow& window, Rows out, int64_t in) {
  const int64_t first = out.first * window.stride - window.pad_before;
  const int64_t end = (out.end - 1) * window.stride - window.pad_before + window.reach;
  return {std::clamp<int64_t>(first, 0, in - 1), std::clamp<int64_t>(end, 1, in)};
}

bool is_region_result(const Graph& graph, ValueId value) {
  return std::ranges::find(graph.outputs, value) != graph.outputs.end();
}

/// Writes the strips of a part, one after the other.
class StripWriter {
 public:
  StripWriter(Graph& graph, const RowPart& part) : graph_(graph), part_(part) {}

  std::vector<Node> write(int64_t strips) {
    const SymbolicShape all = sizes_of(graph_, part_.to);
    std::vector<ValueId> results;
    for (const Rows rows : divide_rows(all[row_axis].number(), strips)) results.push_back(write_strip(rows));
    const Node& last = graph_.node(part_.nodes.back());
    nodes_.push_back(make_node(last.name, CoreOp::concat, results, {part_.to}, AxisAttributes{row_axis}));
    return std::move(nodes_);
  }

 private:
  struct Piece {
    ValueId value = no_value;
    Rows rows;
  };

  ValueId write_strip(Rows of_output) {
    pieces_.clear();
    const std::vector<Rows> rows = rows_of_strip(graph_, part_, of_output);
    pieces_[part_.from] = {part_.from, {0, sizes_of(graph_, part_.from)[row_axis].number()}};
    for (size_t i = 0; i < part_.nodes.size(); ++i) write_node(part_.nodes[i], part_.windows[i], rows[i]);
    return pieces_.at(part_.to).value;
  }

  void write_node(NodeId id, const RowWindow& window, Rows out) {
    Node node = graph_.node(id);
    const ValueId whole = node.outputs[0];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!reads_rows(graph_, graph_.node(id), i)) continue;
      const int64_t rows = sizes_of(graph_, node.inputs[i]).end()[-row_distance(id)].number();
      if (i == 0) adjust_padding(node, window, out, rows);
      node.inputs[i] = piece_of(node.inputs[i], input_rows(window, out, rows), row_distance(id));
    }
    node.outputs = {add_value(whole, out, row_distance(id))};
    pieces_[whole] = {node.outputs[0], out};
    nodes_.push_back(std::move(node));
  }

  /// Returns the number of the row axis, counted from the last axis on.
  ptrdiff_t row_distance(NodeId id) const {
    return static_cast<ptrdiff_t>(sizes_of(graph_, graph_.node(id).outputs[0]).size() - row_axis);
  }

  ValueId add_value(ValueId of, Rows rows, ptrdiff_t distance) {
    ValueType type = graph_.value(of).type;
    type.shape->end()[-distance] = rows.count();
    const std::string name =
        fmt::format("{}_rows{}to{}_{}", graph_.value(of).name, rows.first, rows.end, graph_.values.size());
    return graph_.add_value(name, type);
  }

  /// Returns the value that has these rows, a view of the whole or of what the strip has computed.
  ValueId piece_of(ValueId whole, Rows rows, ptrdiff_t distance) {
    const auto known = pieces_.find(whole);
    const int64_t all = sizes_of(graph_, whole).end()[-distance].number();
    const Piece piece = known == pieces_.end() ? Piece{whole, {0, all}} : known->second;
    if (piece.rows == rows) return piece.value;
    const size_t rank = sizes_of(graph_, whole).size();
    SliceAttributes slice{SymbolicShape(rank, 0), std::vector<int64_t>(rank, 1)};
    slice.starts.end()[-distance] = rows.first - piece.rows.first;
    const auto [view, is_new] = views_.try_emplace({piece.value, rows.first, rows.end}, no_value);
    if (!is_new) return view->second;
    view->second = add_value(whole, rows, distance);
    nodes_.push_back(
        make_node(graph_.node(part_.nodes.back()).name, CoreOp::slice, {piece.value}, {view->second}, slice));
    return view->second;
  }

  static void adjust_padding(Node& node, const RowWindow& window, Rows out, int64_t rows) {
    const int64_t first = out.first * window.stride - window.pad_before;
    const int64_t end = (out.end - 1) * window.stride - window.pad_before + window.reach;
    const Dim before = std::max<int64_t>(0, -first);
    const Dim after = std::clamp<int64_t>(end - rows, 0, window.pad_after);
    const auto set = [&](auto attributes) {
      attributes.pads[0] = before, attributes.pads[attributes.strides.size()] = after;
      set_attributes(node, attributes);
    };
    if (op_of(node) == CoreOp::conv) set(attributes_of<ConvAttributes>(node));
    if (op_of(node) == CoreOp::max_pool || op_of(node) == CoreOp::average_pool)
      set(attributes_of<PoolAttributes>(node));
  }

  Graph& graph_;
  const RowPart& part_;
  std::vector<Node> nodes_;
  std::map<ValueId, Piece> pieces_;  // what a strip has of each value
  std::map<std::tuple<ValueId, int64_t, int64_t>, ValueId> views_;
};

}  // namespace

std::optional<RowPart> find_row_part(const Graph& graph, ValueId from, ValueId to) {
  const NodeId last = graph.value(to).producer;
  if (last == no_node || !rows_of(graph, from) || !rows_of(graph, to)) return std::nullopt;
  // Values that follow from `from`, and of these the ones that `to` follows from.
  std::set<ValueId> after{from}, before{to};
  for (size_t n = 0; n <= index(last); ++n)
    if (std::ranges::any_of(graph.nodes[n].inputs, [&](ValueId input) { return after.contains(input); }))
      after.insert(graph.nodes[n].outputs[0]);
  RowPart part{from, to, {}, {}};
  for (size_t n = index(last) + 1; n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (!before.contains(node.outputs[0]) || !after.contains(node.outputs[0]) || node.outputs[0] == from)
      continue;
    const std::optional<RowWindow> window = row_window(graph, node);
    if (!window) return std::nullopt;
    part.nodes.push_back(NodeId(n)), part.windows.push_back(*window);
    before.insert(node.inputs.begin(), node.inputs.end());
  }
  if (!before.contains(from)) return std::nullopt;
  std::ranges::reverse(part.nodes), std::ranges::reverse(part.windows);
  const std::set<NodeId> inside(part.nodes.begin(), part.nodes.end());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const bool is_inside = inside.contains(NodeId(n));
    for (size_t i = 0; i < graph.nodes[n].inputs.size(); ++i) {
      const ValueId input = graph.nodes[n].inputs[i];
      const bool is_made =
          graph.value(input).producer != no_node && inside.contains(graph.value(input).producer);
      if (!is_inside && is_made && input != to) return std::nullopt;
      if (is_inside && (is_made || input == from) && !reads_strips(graph, graph.nodes[n], i))
        return std::nullopt;
    }
    if (is_inside && NodeId(n) != last && is_region_result(graph, graph.nodes[n].outputs[0]))
      return std::nullopt;
  }
  return part;
}

std::vector<Rows> rows_of_strip(const Graph& graph, const RowPart& part, Rows of_output) {
  std::map<ValueId, Rows> needed{{part.to, of_output}};
  std::vector<Rows> rows(part.nodes.size() + 1);
  for (size_t i = part.nodes.size(); i-- > 0;) {
    const Node& node = graph.node(part.nodes[i]);
    rows[i] = needed.at(node.outputs[0]);
    for (size_t input = 0; input < node.inputs.size(); ++input) {
      if (!reads_strips(graph, node, input)) continue;
      const int64_t all = sizes_of(graph, node.inputs[input])[row_axis].number();
      const Rows wanted = input_rows(part.windows[i], rows[i], all);
      const auto [at, is_new] = needed.try_emplace(node.inputs[input], wanted);
      if (!is_new)
        at->second = {std::min(at->second.first, wanted.first), std::max(at->second.end, wanted.end)};
    }
  }
  rows.back() = needed.at(part.from);
  return rows;
}

std::vector<Rows> divide_rows(int64_t rows, int64_t strips) {
  const int64_t each = (rows + strips - 1) / strips;
  std::vector<Rows> divided;
  for (int64_t first = 0; first < rows; first += each)
    divided.push_back({first, std::min(first + each, rows)});
  return divided;
}

void split_rows(Graph& graph, const RowPart& part, int64_t strips) {
  std::vector<Node> written = StripWriter(graph, part).write(strips);
  const std::set<NodeId> inside(part.nodes.begin(), part.nodes.end());
  std::vector<Node> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (NodeId(n) == part.nodes.back()) std::ranges::move(written, std::back_inserter(nodes));
    if (!inside.contains(NodeId(n))) nodes.push_back(std::move(graph.nodes[n]));
  }
  graph.nodes.clear();
  for (Value& value : graph.values) value.producer = no_node;
  for (Node& node : nodes) graph.add_node(std::move(node));
  check_canonical(graph);
}

}  // namespace intarsia::halide
