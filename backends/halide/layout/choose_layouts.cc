#include "backends/halide/layout/choose_layouts.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "backends/halide/core/core_attributes.h"

namespace intarsia::halide {
namespace {

AxisOrder identity_order(size_t rank) {
  AxisOrder order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

AxisOrder channels_last(size_t rank) {
  AxisOrder order = identity_order(rank);
  if (rank >= 3) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

SymbolicShape dense_strides(const SymbolicShape& shape, const AxisOrder& order) {
  SymbolicShape strides(shape.size());
  Dim next = 1;
  for (size_t i = order.size(); i-- > 0; next = next * shape[order[i]]) strides[order[i]] = next;
  return strides;
}

/// Returns the storage of a view node's output; nullopt if its elements must move.
std::optional<Storage> view_storage(const Graph& graph, const Node& node, const Storage& in) {
  const SymbolicShape &from = sizes_of(graph, node.inputs[0]), &to = sizes_of(graph, node.outputs[0]);
  Storage out{in.root, in.offset, SymbolicShape(to.size())};
  if (op_of(node) == CoreOp::transpose) {
    const std::vector<int64_t> perm = attributes_of<TransposeAttributes>(node).perm;
    for (size_t i = 0; i < to.size(); ++i) out.strides[i] = in.strides[static_cast<size_t>(perm[i])];
    return out;
  }
  if (op_of(node) == CoreOp::slice) {
    const SliceAttributes slice = attributes_of<SliceAttributes>(node);
    for (size_t i = 0; i < to.size(); ++i) {
      if (slice.steps[i] < 0) return std::nullopt;
      out.strides[i] = to[i] == 1 || to[i] == 0 ? in.strides[i] : in.strides[i] * slice.steps[i];
      out.offset = out.offset + in.strides[i] * slice.starts[i];
    }
    return out;
  }
  if (op_of(node) == CoreOp::expand) {
    for (size_t i = 0; i < to.size(); ++i)
      out.strides[i] = provably_equal(from[i], to[i]) ? in.strides[i] : 0;
    return out;
  }
  std::optional<SymbolicShape> strides = reshape_strides(from, in.strides, to);
  if (!strides) return std::nullopt;
  out.strides = *strides;
  return out;
}

/// Returns, for each value, the order that its readers prefer: channels last for a Conv, and the one that
/// makes the reshape after a transpose a view.
std::vector<AxisOrder> wanted_orders(const Graph& graph) {
  std::vector<AxisOrder> wanted(graph.values.size());
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const AxisOrder& out = wanted[index(node.outputs[0])];
    size_t rank = graph.value(node.outputs[0]).type.shape->size();
    if (op_of(node) == CoreOp::conv) {
      wanted[index(node.inputs[0])] = channels_last(rank);
    } else if (op_of(node) == CoreOp::reshape) {
      wanted[index(node.inputs[0])] = identity_order(graph.value(node.inputs[0]).type.shape->size());
    } else if (op_of(node) == CoreOp::transpose && !out.empty()) {
      const std::vector<int64_t> perm = attributes_of<TransposeAttributes>(node).perm;
      AxisOrder order;
      for (size_t axis : out) order.push_back(static_cast<size_t>(perm[axis]));
      wanted[index(node.inputs[0])] = order;
    } else if (form_of(node) == Form::elementwise && !out.empty()) {
      for (ValueId input : node.inputs)
        if (graph.value(input).type.shape->size() == rank) wanted[index(input)] = out;
    }
  }
  return wanted;
}

/// Returns the input whose layout an output takes over: the largest one of the output's rank, preferably
/// computed by a contraction or window.
ValueId leading_input(const Graph& graph, const Node& node) {
  size_t rank = graph.value(node.outputs[0]).type.shape->size();
  Dim most = 0;
  bool most_from_contraction = false;
  ValueId leader = no_value;
  for (ValueId input : node.inputs) {
    if (input == no_value || graph.value(input).constant || graph.value(input).type.shape->size() != rank)
      continue;
    NodeId producer = graph.value(input).producer;
    Form form = producer == no_node ? Form::movement : form_of(graph.node(producer));
    const Dim elements = product_of_dims(sizes_of(graph, input), 0, rank);
    const bool from_contraction = form == Form::contraction || form == Form::window;
    const bool is_better = leader == no_value || usually_greater(elements, most) ||
                           (elements == most && from_contraction && !most_from_contraction);
    if (is_better) most = elements, most_from_contraction = from_contraction, leader = input;
    if (form_of(node) != Form::elementwise && form_of(node) != Form::concat) break;
  }
  return leader;
}

AxisOrder own_order(const Graph& graph, const Node& node, const std::vector<Storage>& storage,
                    const AxisOrder& wanted) {
  size_t rank = graph.value(node.outputs[0]).type.shape->size();
  if (std::ranges::find(graph.outputs, node.outputs[0]) != graph.outputs.end()) return identity_order(rank);
  if (op_of(node) == CoreOp::conv || form_of(node) == Form::window) return channels_last(rank);
  if (op_of(node) == CoreOp::matmul || (op_of(node) == CoreOp::copy && !wanted.empty()))
    return wanted.empty() ? identity_order(rank) : wanted;
  if (op_of(node) == CoreOp::reshape || form_of(node) == Form::recurrence) return identity_order(rank);
  ValueId leader = leading_input(graph, node);
  return leader == no_value ? identity_order(rank) : storage_order(storage[index(leader)].strides);
}

/// Place inside the output of a concat, instead of separate memory.
struct Claim {
  ValueId concat = no_value;
  size_t axis = 0;
  Dim start = 0;
};

/// Gives every input of a concat a producer that can write into the concat's output: a Copy if there is
/// none.
Graph insert_concat_copies(const Graph& graph) {
  Graph result = graph;
  result.nodes.clear();
  std::vector<bool> taken(graph.values.size(), false);
  for (ValueId output : graph.outputs) taken[index(output)] = true;
  std::vector<std::vector<bool>> direct(graph.nodes.size());
  // Visits later concats first: where concats nest, the largest owns the memory.
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (op_of(node) != CoreOp::concat) continue;
    for (ValueId input : node.inputs) {
      NodeId producer = graph.value(input).producer;
      bool own = producer != no_node && form_of(graph.node(producer)) != Form::view && !taken[index(input)];
      direct[n].push_back(own);
      taken[index(input)] = true;
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Node node = graph.nodes[n];
    for (size_t i = 0; i < direct[n].size(); ++i) {
      if (direct[n][i]) continue;
      ValueId from = node.inputs[i];
      std::string name = fmt::format("copy{}_{}", n, i);
      ValueId copy = result.add_value(name, graph.value(from).type);
      result.add_node(make_node(name, CoreOp::copy, {from}, {copy}));
      node.inputs[i] = copy;
    }
    result.add_node(std::move(node));
  }
  return result;
}

std::vector<Claim> find_claims(const Graph& graph) {
  std::vector<Claim> claims(graph.values.size());
  for (const Node& node : graph.nodes) {
    if (op_of(node) != CoreOp::concat) continue;
    auto axis = static_cast<size_t>(attributes_of<AxisAttributes>(node).axis);
    Dim start = 0;
    for (ValueId input : node.inputs) {
      claims[index(input)] = {node.outputs[0], axis, start};
      start = start + sizes_of(graph, input)[axis];
    }
  }
  return claims;
}

/// Inserts Copies around convolutions, which compute vectors of channels. Where the channels of a pixel are
/// not contiguous, in a caller's tensor, each vector would be read or written element by element, for every
/// tap: the code is many times as long, and slower than a Copy.
class ChannelCopies {
 public:
  explicit ChannelCopies(const Layouts& layouts)
      : layouts_(layouts),
        graph_(layouts.graph),
        readers_(find_readers(layouts.graph)),
        result_(layouts.graph) {}

  Graph insert() {
    result_.nodes.clear();
    for (const Node& node : graph_.nodes) add(node);
    return std::move(result_);
  }

 private:
  /// Checks whether there are vectors of channels, and pixels that lie between their elements.
  bool are_channels_apart(ValueId value) const {
    constexpr int64_t min_channels = 8;
    const SymbolicShape& shape = sizes_of(graph_, value);
    return shape.size() >= 3 && !usually_greater(min_channels, shape[1]) &&
           layouts_.storage[index(value)].strides[1] != 1 && product_of_dims(shape, 2, shape.size()) != 1;
  }

  /// Checks whether a value is computed by a convolution or window, in vectors of channels.
  bool is_made_by_channels(ValueId value) const {
    while (graph_.value(value).producer != no_node) {
      const Node& node = graph_.node(graph_.value(value).producer);
      if (op_of(node) == CoreOp::conv || form_of(node) == Form::window) return true;
      if (form_of(node) != Form::elementwise) return false;
      value = leading_input(graph_, node);
      if (value == no_value || readers_[index(value)].size() != 1) return false;
    }
    return false;
  }

  ValueId add_copy(ValueId from, ValueId to) {
    const std::string name = fmt::format("channels{}", result_.nodes.size());
    if (to == no_value) to = result_.add_value(name, graph_.value(from).type);
    result_.add_node(make_node(name, CoreOp::copy, {from}, {to}));
    return to;
  }

  void add(Node node) {
    for (ValueId& input : node.inputs)
      if (const auto at = instead_.find(input); at != instead_.end()) input = at->second;
    const ValueId from = op_of(node) == CoreOp::conv ? node.inputs[0] : no_value;
    if (from != no_value && index(from) < graph_.values.size() && !graph_.value(from).constant &&
        are_channels_apart(from)) {
      auto [at, is_new] = copies_.try_emplace(from, no_value);
      if (is_new) at->second = add_copy(from, no_value);
      node.inputs[0] = at->second;
    }
    const ValueId output = node.outputs[0];
    const bool leaves = std::ranges::find(graph_.outputs, output) != graph_.outputs.end();
    if (!leaves || !are_channels_apart(output) || !is_made_by_channels(output)) {
      result_.add_node(std::move(node));
      return;
    }
    node.outputs[0] =
        result_.add_value(fmt::format("channels{}", result_.nodes.size()), graph_.value(output).type);
    instead_[output] = node.outputs[0];
    const ValueId made = node.outputs[0];
    result_.add_node(std::move(node));
    add_copy(made, output);
  }

  const Layouts& layouts_;
  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  Graph result_;
  std::map<ValueId, ValueId> copies_;   // copies of what convolutions read
  std::map<ValueId, ValueId> instead_;  // values that the rest of the region reads in place of outputs
};

class LayoutChooser {
 public:
  explicit LayoutChooser(const Graph& graph) {
    layouts_.graph = insert_concat_copies(graph);
    wanted_ = wanted_orders(layouts_.graph);
    orders_.resize(layouts_.graph.values.size());
  }

  /// Places all values twice: each one separate to find the orders, then with the places inside concats.
  Layouts choose() {
    claims_.resize(layouts_.graph.values.size());
    place_all();
    claims_ = find_claims(layouts_.graph);
    place_all();
    return std::move(layouts_);
  }

 private:
  void place_all() {
    const Graph& graph = layouts_.graph;
    layouts_.storage.assign(graph.values.size(), {});
    layouts_.is_view.assign(graph.nodes.size(), false);
    for (size_t v = 0; v < graph.values.size(); ++v)
      if (graph.values[v].producer == no_node)
        layouts_.storage[v] = {ValueId(v), 0, row_major_strides(sizes_of(graph, ValueId(v)))};
    for (size_t n = 0; n < graph.nodes.size(); ++n) place(n);
  }

  void place(size_t n) {
    const Node& node = layouts_.graph.nodes[n];
    ValueId out = node.outputs[0];
    Storage& storage = layouts_.storage[index(out)];
    if (form_of(node) == Form::view) {
      if (auto view = view_storage(layouts_.graph, node, layouts_.storage[index(node.inputs[0])])) {
        storage = *view;
        layouts_.is_view[n] = true;
        return;
      }
    }
    AxisOrder& order = orders_[index(out)];
    if (order.empty()) order = own_order(layouts_.graph, node, layouts_.storage, wanted_[index(out)]);
    storage = own_storage(out);
  }

  Storage own_storage(ValueId value) const {
    const Claim& claim = claims_[index(value)];
    if (claim.concat == no_value)
      return {value, 0, dense_strides(sizes_of(layouts_.graph, value), orders_[index(value)])};
    Storage storage = own_storage(claim.concat);
    storage.offset = storage.offset + storage.strides[claim.axis] * claim.start;
    return storage;
  }

  Layouts layouts_;
  std::vector<AxisOrder> wanted_, orders_;
  std::vector<Claim> claims_;
};

ValueId storage_root(const Layouts& layouts, ValueId value) { return layouts.storage[index(value)].root; }

/// Compares strides and offsets; the stride of an axis of one element does not matter.
bool have_equal_strides(const SymbolicShape& shape, const Storage& a, const Storage& b) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1 && !provably_equal(a.strides[axis], b.strides[axis])) return false;
  }
  return provably_equal(a.offset, b.offset);
}

/// Removes Copies to an output that see all of a computed value's memory, in the same order: the value's
/// memory becomes the output's, and the Copy needs no code.
void write_outputs_directly(Layouts& layouts) {
  const Graph& graph = layouts.graph;
  const auto is_output = [&](ValueId value) {
    return std::ranges::find(graph.outputs, value) != graph.outputs.end();
  };
  const auto elements = [&](ValueId value) {
    const SymbolicShape& shape = sizes_of(graph, value);
    return product_of_dims(shape, 0, shape.size());
  };
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const ValueId output = node.outputs[0];
    if (op_of(node) != CoreOp::copy || !is_output(output) || storage_root(layouts, output) != output)
      continue;
    const ValueId root = storage_root(layouts, node.inputs[0]);
    if (graph.value(root).producer == no_node || is_output(root)) continue;
    if (!provably_equal(elements(root), elements(output)) ||
        !have_equal_strides(sizes_of(graph, output), layouts.storage[index(node.inputs[0])],
                            layouts.storage[index(output)]))
      continue;
    for (Storage& storage : layouts.storage) {
      if (storage.root == root) storage.root = output;
    }
    layouts.is_view[n] = true;
  }
}

}  // namespace

std::vector<size_t> storage_order(const SymbolicShape& strides) {
  AxisOrder order;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    size_t at = order.size();
    while (at > 0 && usually_greater(strides[axis], strides[order[at - 1]])) --at;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), axis);
  }
  return order;
}

std::optional<SymbolicShape> reshape_strides(const SymbolicShape& from, const SymbolicShape& strides,
                                             const SymbolicShape& to) {
  SymbolicShape sizes, steps;
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) sizes.push_back(from[i]), steps.push_back(strides[i]);
  SymbolicShape result(to.size(), 0);
  size_t begin = 0;
  for (size_t i = 0; i < to.size();) {
    if (to[i] == 1) {
      ++i;
      continue;
    }
    // Finds the smallest groups of axes on both sides with the same number of elements.
    size_t end = begin, last = i;
    Dim old_count = 1, new_count = 1;
    do {
      if (!usually_greater(old_count, new_count) && end < sizes.size())
        old_count = old_count * sizes[end++];
      else if (last < to.size())
        new_count = new_count * to[last++];
      else
        return std::nullopt;
    } while (!provably_equal(old_count, new_count) || new_count == 1);
    for (size_t k = begin; k + 1 < end; ++k)
      if (!provably_equal(steps[k], steps[k + 1] * sizes[k + 1])) return std::nullopt;
    Dim step = steps[end - 1];
    for (size_t k = last; k-- > i; step = step * to[k]) result[k] = step;
    begin = end, i = last;
  }
  return result;
}

Layouts choose_layouts(const Graph& graph) {
  const Layouts layouts = LayoutChooser(graph).choose();
  Layouts chosen = LayoutChooser(ChannelCopies(layouts).insert()).choose();
  write_outputs_directly(chosen);
  return chosen;
}

std::vector<AxisOrder> choose_output_layouts(const Graph& graph) {
  Graph inside = graph;
  inside.outputs.clear();
  const Layouts layouts = LayoutChooser(inside).choose();
  std::vector<AxisOrder> orders;
  for (ValueId output : graph.outputs)
    orders.push_back(storage_order(layouts.storage[index(output)].strides));
  return orders;
}

std::string print_layouts(const Layouts& layouts) {
  std::string text;
  for (size_t n = 0; n < layouts.graph.nodes.size(); ++n) {
    const Node& node = layouts.graph.nodes[n];
    const Value& out = layouts.graph.value(node.outputs[0]);
    const Storage& storage = layouts.storage[index(node.outputs[0])];
    text += fmt::format("%{} = {} {} strides {} at {} of %{}{}\n", out.name, node.op, print_type(out.type),
                        print_shape(storage.strides), storage.offset.print(),
                        layouts.graph.value(storage.root).name, layouts.is_view[n] ? " (view)" : "");
  }
  return text;
}

}  // namespace intarsia::halide
