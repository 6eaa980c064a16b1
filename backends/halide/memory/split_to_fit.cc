#include "backends/halide/memory/split_to_fit.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "backends/halide/canonicalize/split_rows.h"
#include "backends/halide/schedule/contraction_schedule.h"

namespace intarsia::halide {
namespace {

/// Limits of the search: values that a part may start from or end with, and splits of a graph.
constexpr size_t max_starts = 16, max_ends = 64;
constexpr int max_splits = 8;
constexpr int64_t strip_counts[] = {2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56};

struct Split {
  RowPart part;
  int64_t strips = 0;
  size_t bytes = 0;  // estimate of the peak within the part
  double extra = 0;  // operations that strips compute again
};

/// Returns the operations of a row of the node's output.
double operations_of_row(const Graph& graph, const Node& node) {
  const Shape out = shape_of(graph, node.outputs[0]);
  double operations = static_cast<double>(element_count(out)) / static_cast<double>(out[2]);
  if (op_of(node) != CoreOp::conv) return operations;
  const ContractionSizes sizes = contraction_sizes(graph, node);
  return operations * static_cast<double>(sizes.depth * element_count(sizes.kernel));
}

/// Search of the split of a graph that takes least where most is needed now.
class SplitSearch {
 public:
  SplitSearch(const Graph& graph, const Draft& draft, size_t bytes)
      : graph_(graph), draft_(draft), bytes_(bytes), peak_(find_live_peak(draft.layouts, draft.calls)) {
    for (const Group& group : draft.groups)
      for (NodeId node : group.nodes) group_output_[draft.layouts.graph.node(node).outputs[0]] = group.output;
  }

  std::optional<Split> run() {
    const auto [starts, ends] = list_bounds();
    for (ValueId from : starts)
      for (ValueId to : ends)
        if (std::optional<RowPart> part = find_row_part(graph_, from, to); part && helps(*part))
          try_strips(*part);
    return best_;
  }

 private:
  /// Returns the values that parts start from, the ones before the peak, and end with.
  std::pair<std::vector<ValueId>, std::vector<ValueId>> list_bounds() const {
    std::vector<ValueId> starts, ends;
    const Call& largest = draft_.calls[peak_.call];
    const auto at = static_cast<size_t>(index(largest.nodes.back()));
    const Graph& drawn = draft_.layouts.graph;
    std::set<ValueId> seen;
    for (size_t n = at + 1; n-- > 0 && starts.size() < max_starts;)
      for (ValueId input : drawn.nodes[n].inputs)
        if (is_in_graph(input) && !graph_.value(input).constant && is_bound(input) &&
            seen.insert(input).second)
          starts.push_back(input);
    for (size_t n = 0; n < drawn.nodes.size() && ends.size() < max_ends; ++n) {
      const ValueId output = drawn.nodes[n].outputs[0];
      const bool is_late = n >= at || is_alive(root(output));
      if (is_late && is_in_graph(output) && is_made_whole(output)) ends.push_back(output);
    }
    return {starts, ends};
  }

  bool is_in_graph(ValueId value) const { return index(value) < graph_.values.size(); }
  ValueId root(ValueId value) const { return draft_.layouts.storage[index(value)].root; }

  bool is_alive(ValueId root) const { return std::ranges::find(peak_.roots, root) != peak_.roots.end(); }

  /// Checks whether a kernel writes the value to memory.
  bool is_made_whole(ValueId value) const {
    const auto known = group_output_.find(value);
    return known != group_output_.end() && known->second == value;
  }
  bool is_bound(ValueId value) const { return is_made_whole(value) || !group_output_.contains(value); }

  /// Checks whether the part makes a value that is alive during the peak, other than its last.
  bool helps(const RowPart& part) const {
    return std::ranges::any_of(part.nodes, [&](NodeId node) {
      const ValueId output = graph_.node(node).outputs[0];
      return output != part.to && is_alive(root(output));
    });
  }

  size_t workspace_bytes(ValueId value) const {
    const Graph& drawn = draft_.layouts.graph;
    const ValueId at = root(value);
    const bool is_callers = std::ranges::find(drawn.inputs, at) != drawn.inputs.end() ||
                            std::ranges::find(drawn.outputs, at) != drawn.outputs.end();
    return is_callers || drawn.value(at).constant ? 0 : bytes_of(at);
  }
  size_t bytes_of(ValueId value) const {
    return dtype_bytes(draft_.layouts.graph.value(value).type.dtype,
                       static_cast<size_t>(element_count(shape_of(draft_.layouts.graph, value))));
  }

  /// Returns the bytes of what lives through the whole part beside it.
  size_t bytes_beside(const RowPart& part) const {
    std::set<ValueId> own{root(part.from), root(part.to)};
    for (NodeId node : part.nodes) own.insert(root(graph_.node(node).outputs[0]));
    size_t bytes = 0;
    for (ValueId other : peak_.roots)
      if (!own.contains(other)) bytes += bytes_of(other);
    return bytes;
  }

  void try_strips(const RowPart& part) {
    const int64_t rows = sizes_of(graph_, part.to)[2].number();
    const size_t around = workspace_bytes(part.from) + workspace_bytes(part.to) + bytes_beside(part);
    if (best_ && around > bytes_ && around >= best_->bytes) return;
    double whole = 0;
    for (NodeId node : part.nodes)
      whole += operations_of_row(node) *
               static_cast<double>(sizes_of(graph_, graph_.node(node).outputs[0])[2].number());
    for (const int64_t strips : strip_counts) {
      if (strips > rows) break;
      const std::vector<Rows> divided = divide_rows(rows, strips);
      // Strips between the first and the last are alike.
      Split split{part, strips, 0, 0};
      for (const size_t strip : {size_t{0}, divided.size() / 2, divided.size() - 1})
        split.bytes = std::max(split.bytes, around + bytes_of_strip(part, divided[strip]));
      split.extra =
          operations_of_strip(part, divided[divided.size() / 2]) * static_cast<double>(divided.size()) -
          whole;
      if (!best_ || rank(split) < rank(*best_)) best_ = split;
      if (split.bytes <= bytes_) break;  // more strips compute more
    }
  }

  double operations_of_row(NodeId node) {
    const auto [known, is_new] = operations_.try_emplace(node, 0);
    if (is_new) known->second = halide::operations_of_row(graph_, graph_.node(node));
    return known->second;
  }

  double operations_of_strip(const RowPart& part, Rows strip) {
    const std::vector<Rows> rows = rows_of_strip(graph_, part, strip);
    double operations = 0;
    for (size_t i = 0; i < part.nodes.size(); ++i)
      operations += operations_of_row(part.nodes[i]) * static_cast<double>(rows[i].count());
    return operations;
  }

  /// Ranks those that fit by what they compute again, before all others.
  std::tuple<bool, double, size_t> rank(const Split& split) const {
    constexpr double of_kernel = 20000;  // operations in the time that a call takes
    const bool fits = split.bytes <= bytes_;
    const double calls = of_kernel * static_cast<double>(split.strips * std::ssize(split.part.nodes));
    return {!fits, fits ? split.extra + calls : static_cast<double>(split.bytes), split.bytes};
  }

  /// Returns the most bytes that a strip's values take at once.
  size_t bytes_of_strip(const RowPart& part, Rows strip) const {
    const std::vector<Rows> rows = rows_of_strip(graph_, part, strip);
    std::map<ValueId, std::pair<size_t, size_t>> lifetimes;  // by value in memory: first and last node
    std::map<ValueId, size_t> bytes;
    for (size_t i = 0; i < part.nodes.size(); ++i) {
      const Node& node = graph_.node(part.nodes[i]);
      const ValueId output = node.outputs[0];
      const size_t end = place_of(part, output, i);
      for (ValueId input : node.inputs)
        if (const auto at = lifetimes.find(input); at != lifetimes.end())
          at->second.second = std::max(at->second.second, end);
      if (output == part.to || !is_bound(output)) continue;
      lifetimes[output] = {i, i};
      bytes[output] = bytes_of(output) / static_cast<size_t>(shape_of(graph_, output)[2]) *
                      static_cast<size_t>(rows[i].count());
    }
    size_t most = 0;
    for (size_t i = 0; i < part.nodes.size(); ++i) {
      size_t alive = 0;
      for (const auto& [value, lifetime] : lifetimes)
        if (lifetime.first <= i && i <= lifetime.second) alive += bytes[value];
      most = std::max(most, alive);
    }
    return most;
  }

  /// Returns the number in the part of the node that ends the kernel of node `i`.
  size_t place_of(const RowPart& part, ValueId output, size_t i) const {
    const auto known = group_output_.find(output);
    if (known == group_output_.end()) return i;
    const NodeId maker = graph_.value(known->second).producer;
    const auto at = std::ranges::find(part.nodes, maker);
    return at == part.nodes.end() ? i : static_cast<size_t>(at - part.nodes.begin());
  }

  const Graph& graph_;
  const Draft& draft_;
  size_t bytes_;
  LivePeak peak_;
  std::map<ValueId, ValueId> group_output_;  // output of a node -> what its kernel writes
  std::map<NodeId, double> operations_;      // of a row of a node's output
  std::optional<Split> best_;
};

}  // namespace

Graph split_to_fit(const Graph& graph, size_t bytes, const MakeDraft& make_draft) {
  Graph best = graph;
  Draft draft = make_draft(graph);
  for (int split = 0; split < max_splits; ++split) {
    const size_t now = plan_workspace(draft.layouts, draft.calls).bytes;
    if (now <= bytes || draft.calls.empty()) break;
    const std::optional<Split> found = SplitSearch(best, draft, bytes).run();
    if (!found) break;
    Graph next = best;
    split_rows(next, found->part, found->strips);
    Draft made = make_draft(next);
    if (plan_workspace(made.layouts, made.calls).bytes >= now) break;
    best = std::move(next);
    draft = std::move(made);
  }
  return best;
}

}  // namespace intarsia::halide
