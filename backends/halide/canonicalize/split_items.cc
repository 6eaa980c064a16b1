#include "backends/halide/canonicalize/split_items.h"

#include <algorithm>
#include <set>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/core/core_attributes.h"
#include "graph/element_rules.h"

namespace intarsia::halide {
namespace {

std::set<std::string> find_symbols(const Graph& region) {
  std::set<std::string> symbols;
  for (const Value& value : region.values) {
    if (value.constant) continue;
    if (value.type.shape)
      for (const Dim& size : *value.type.shape) symbols.merge(size.symbols());
    if (value.type.elements)
      for (const Dim& element : *value.type.elements) symbols.merge(element.symbols());
  }
  return symbols;
}

/// Checks that the type has the open size as the first axis alone, or as a factor of it, and that numbers
/// computed from it differ for all numbers of items: what two and three items have in common, all have.
Status check_type(const ValueType& type, const std::string& symbol) {
  const Dim items = Dim::named(symbol);
  if (type.shape)
    for (size_t axis = 0; axis < type.shape->size(); ++axis) {
      const Dim& size = (*type.shape)[axis];
      const bool is_multiple = axis == 0 && size == size.substitute({{symbol, 1}}) * items;
      if (!size.is_number() && !is_multiple)
        return fail("{} has the open size not as its first axis alone", print_type(type));
    }
  if (type.elements)
    for (const Dim& element : *type.elements)
      if (!element.is_number() && !element.linear())
        return fail("a number that follows from the open size in another way than by a factor");
  return {};
}

void substitute(std::vector<Dim>& sizes, const std::map<std::string, Dim>& numbers) {
  for (Dim& size : sizes) size = size.substitute(numbers);
}

/// Returns the region for a number of items. Inputs that are computed from sizes become constants where nodes
/// read them.
Graph with_items(const Graph& region, const std::string& symbol, int64_t items) {
  const std::map<std::string, Dim> number{{symbol, items}};
  Graph graph = region;
  for (Value& value : graph.values) {
    if (value.type.shape) substitute(*value.type.shape, number);
    if (value.type.elements) substitute(*value.type.elements, number);
  }
  for (ValueId input : region.inputs) {
    const std::optional<Tensor> elements = tensor_of_elements(graph.value(input).type);
    if (!elements) continue;
    const ValueId constant = graph.add_constant(graph.value(input).name + " of a size", *elements);
    for (Node& node : graph.nodes) std::ranges::replace(node.inputs, input, constant);
  }
  return graph;
}

/// How a value depends on the number of items.
enum class Part : uint8_t { shared, per_item };

/// Comparison of the canonical graphs of a region for two and for three items.
class ItemComparison {
 public:
  ItemComparison(const Graph& two, const Graph& three) : two_(two), three_(three) {}

  Status compare() {
    if (two_.nodes.size() != three_.nodes.size() || two_.values.size() != three_.values.size() ||
        two_.inputs != three_.inputs || two_.outputs != three_.outputs)
      return fail("the work differs for two and three items");
    const std::vector<bool> is_used = find_used();
    for (uint32_t i = 0; i < two_.values.size(); ++i)
      parts_.push_back(is_used[i] ? TRY(compare_values(ValueId{i})) : Part::shared);
    for (uint32_t i = 0; i < two_.nodes.size(); ++i)
      TRY(with_context(check_node(NodeId{i}), "{}", two_.nodes[i].op));
    for (ValueId output : two_.outputs)
      if (!moves(output)) return fail("an output is the same for all items");
    return {};
  }

  bool moves(ValueId value) const { return parts_[index(value)] == Part::per_item; }

 private:
  /// Finds the values other than constants that nothing reads.
  std::vector<bool> find_used() const {
    std::vector<bool> is_used(two_.values.size());
    for (size_t i = 0; i < is_used.size(); ++i) is_used[i] = !two_.values[i].constant;
    for (const Node& node : two_.nodes)
      for (ValueId input : values_read(node)) is_used[index(input)] = true;
    for (ValueId output : two_.outputs) is_used[index(output)] = true;
    return is_used;
  }

  Shape shape_of(ValueId value) const { return *two_.value(value).type.fixed_shape(); }

  Result<Part> compare_values(ValueId id) const {
    const Value &two = two_.value(id), &three = three_.value(id);
    const std::optional<Shape> a = two.type.fixed_shape(), b = three.type.fixed_shape();
    if (!a || !b || two.type.dtype != three.type.dtype ||
        two.constant.has_value() != three.constant.has_value())
      return fail("the work differs for two and three items");
    if (*a == *b) {
      if (two.constant && *two.constant != *three.constant)
        return fail("a constant differs for two and three items");
      return Part::shared;
    }
    const bool is_first = a->size() == b->size() && !a->empty() && (*a)[0] % 2 == 0 &&
                          (*a)[0] / 2 * 3 == (*b)[0] && std::equal(a->begin() + 1, a->end(), b->begin() + 1);
    if (!is_first)
      return fail("{} for two items and {} for three: not on the first axis alone", print_shape(*a),
                  print_shape(*b));
    if (two.constant) return fail("a constant differs for two and three items");
    return Part::per_item;
  }

  /// Returns the size of the first axis of one item.
  int64_t rows(ValueId value) const { return shape_of(value)[0] / (moves(value) ? 2 : 1); }

  Status check_node(NodeId id) const {
    const Node &node = two_.node(id), &other = three_.node(id);
    if (node.op != other.op || node.inputs != other.inputs || node.outputs != other.outputs ||
        node.attributes != other.attributes)
      return fail("the work differs for two and three items");
    const auto is_moving = [&](ValueId value) { return value != no_value && moves(value); };
    const bool reads = std::ranges::any_of(node.inputs, is_moving),
               writes = std::ranges::any_of(node.outputs, is_moving);
    if (!reads && !writes) return {};
    if (reads && !std::ranges::all_of(node.outputs, is_moving)) return fail("it mixes items");
    return keeps_items_apart(node, reads) ? Status() : fail("it mixes items");
  }

  bool input_moves(const Node& node, size_t i) const {
    return i < node.inputs.size() && node.inputs[i] != no_value && moves(node.inputs[i]);
  }

  /// Checks a node whose outputs have a part per item; `reads`: so has an input. The shapes of the values are
  /// compared already: axes other than the first do not depend on the number of items.
  bool keeps_items_apart(const Node& node, bool reads) const {
    const size_t rank = shape_of(node.outputs[0]).size();
    const auto keeps_rows = [&] {
      return input_moves(node, 0) && rows(node.inputs[0]) == rows(node.outputs[0]);
    };
    switch (op_of(node)) {
      case CoreOp::expand:
      case CoreOp::tile:
        return !reads || keeps_rows();
      case CoreOp::reshape:
      case CoreOp::copy:
      case CoreOp::transpose:  // the first axis stays the first
        return reads;
      case CoreOp::slice: {
        const SliceAttributes slice = attributes_of<SliceAttributes>(node);
        return keeps_rows() && slice.starts[0] == 0 && slice.steps[0] == 1;
      }
      case CoreOp::pad:
        return keeps_rows() && attributes_of<PadAttributes>(node).begin[0] == 0;
      case CoreOp::concat:
        return attributes_of<AxisAttributes>(node).axis > 0 &&
               std::ranges::all_of(node.inputs, [&](ValueId input) { return moves(input); });
      case CoreOp::gather:
      case CoreOp::gather_elements: {
        const int64_t axis = attributes_of<AxisAttributes>(node).axis;
        const bool data = input_moves(node, 0), indices = input_moves(node, 1);
        if (op_of(node) == CoreOp::gather) return data ? axis > 0 && !indices : axis == 0;
        return data ? axis > 0 && indices : axis == 0;
      }
      case CoreOp::gather_nd: {
        const bool is_batched = attributes_of<GatherNdAttributes>(node).batch_dims > 0;
        return input_moves(node, 1) && input_moves(node, 0) == is_batched;
      }
      case CoreOp::trilu:
        return rank > 2;
      case CoreOp::one_hot:
        return attributes_of<AxisAttributes>(node).axis > 0;
      case CoreOp::interpolate:
        return keeps_rows() && attributes_of<AxisAttributes>(node).axis > 0 && only_first_moves(node);
      case CoreOp::reverse_sequence: {
        const auto [batch_axis, time_axis] = attributes_of<ReverseSequenceAttributes>(node);
        return keeps_rows() && time_axis > 0 && (batch_axis == 0) == input_moves(node, 1);
      }
      case CoreOp::conv:
      case CoreOp::max_pool:
      case CoreOp::average_pool:
      case CoreOp::lrn:
        return rank > 2 && keeps_rows() && only_first_moves(node);
      case CoreOp::matmul:
        return keeps_products_apart(node);
      case CoreOp::cum_sum:
      case CoreOp::cum_prod:
        return attributes_of<ScanAttributes>(node).axis > 0;
      case CoreOp::arg_max:
      case CoreOp::arg_min:
        return std::ranges::all_of(attributes_of<ArgAttributes>(node).axes,
                                   [](int64_t axis) { return axis > 0; });
      case CoreOp::lstm:
      case CoreOp::gru:
      case CoreOp::rnn:
        return false;
      default:
        break;
    }
    if (form_of(node) == Form::reduction)
      return std::ranges::all_of(attributes_of<ReductionAttributes>(node).axes,
                                 [](int64_t axis) { return axis > 0; });
    return form_of(node) == Form::elementwise && reads;
  }

  bool only_first_moves(const Node& node) const {
    for (size_t i = 1; i < node.inputs.size(); ++i)
      if (input_moves(node, i)) return false;
    return true;
  }

  /// Checks that items are rows of the first operand, or matrices of a batch.
  bool keeps_products_apart(const Node& node) const {
    const size_t rank = shape_of(node.outputs[0]).size();
    const auto is_batch = [&](size_t i) {
      return !input_moves(node, i) || (rank > 2 && shape_of(node.inputs[i]).size() == rank);
    };
    const bool is_rows = rank == 2 && input_moves(node, 0) && !input_moves(node, 1);
    return node.inputs.size() == 2 && (is_rows || (is_batch(0) && is_batch(1)));
  }

  const Graph &two_, &three_;
  std::vector<Part> parts_;  // by value
};

}  // namespace

Result<ItemRegion> split_items(const Graph& region) {
  const std::set<std::string> symbols = find_symbols(region);
  if (symbols.size() != 1) return fail("{} open sizes; want one", symbols.size());
  const std::string& symbol = *symbols.begin();
  for (const Value& value : region.values)
    if (!value.constant) TRY(check_type(value.type, symbol));
  const Graph two = TRY(canonicalize(with_items(region, symbol, 2))),
              three = TRY(canonicalize(with_items(region, symbol, 3)));
  ItemComparison comparison(two, three);
  TRY(comparison.compare());
  ItemRegion items{with_items(region, symbol, 1), {}};
  for (ValueId input : two.inputs) items.input_moves.push_back(comparison.moves(input));
  if (std::ranges::find(items.input_moves, true) == items.input_moves.end())
    return fail("no input tells the number of items");
  return items;
}

}  // namespace intarsia::halide
