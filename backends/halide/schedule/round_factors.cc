#include "backends/halide/schedule/round_factors.h"

#include <algorithm>
#include <map>

#include "backends/halide/core/core_attributes.h"
#include "backends/halide/core/core_ops.h"
#include "backends/halide/core/half_floats.h"
#include "backends/halide/schedule/amx_schedule.h"

namespace intarsia::halide {
namespace {

class FactorRounder {
 public:
  FactorRounder(Graph& graph, const Isa& isa) : graph_(graph), isa_(isa), readers_(find_readers(graph)) {
    rounds_.resize(graph.values.size(), false);
    for (const Node& node : graph.nodes) {
      const bool reads_half = multiplies_in_tiles(node) || (is_depthwise(node) && is_large(node.inputs[0]));
      const ValueId value = reads_half ? origin_of(node.inputs[0]) : second_product(node);
      if (value != no_value && may_round(value)) rounds_[index(value)] = true;
    }
  }

  /// Appends all nodes again, with conversions behind those whose outputs are rounded, and before readers.
  void run() {
    for (Node& node : std::exchange(graph_.nodes, {})) {
      read_rounded(node);
      const ValueId output = node.outputs[0];
      const std::string source = node.name;
      graph_.add_node(std::move(node));
      if (index(output) < rounds_.size() && rounds_[index(output)])
        rounded_[output] = convert(source, output, DType::bf16);
    }
  }

 private:
  bool is_f32(ValueId value) const { return graph_.value(value).type.dtype == DType::f32; }

  bool is_output(ValueId value) const {
    return std::ranges::find(graph_.outputs, value) != graph_.outputs.end();
  }

  /// Checks for a node whose output consists of elements of its only input of numbers.
  bool moves(const Node& node) const {
    return form_of(node) == Form::view || op_of(node) == CoreOp::max_pool;
  }

  /// Checks for a product of f32 by constants.
  bool multiplies_constants(const Node& node) const {
    if ((op_of(node) != CoreOp::conv && op_of(node) != CoreOp::matmul) || node.inputs.size() != 2)
      return false;
    const std::optional<Tensor>& weights = graph_.value(node.inputs[1]).constant;
    return weights && weights->dtype() == DType::f32 &&
           (is_f32(node.inputs[0]) || rounded_.contains(node.inputs[0]));
  }

  /// Checks whether a value would leave the cache before it is read. One that stays is read in less time than
  /// it takes to widen it for each tap.
  bool is_large(ValueId value) const {
    const std::optional<Shape> shape = static_shape(sizes_of(graph_, value));
    return shape && 2 * element_count(*shape) * static_cast<int64_t>(sizeof(float)) > isa_.l2_bytes;
  }

  /// Checks for a convolution of each channel alone.
  bool is_depthwise(const Node& node) const {
    return multiplies_constants(node) && op_of(node) == CoreOp::conv &&
           graph_.value(node.inputs[1]).type.shape->at(1) == 1 &&
           attributes_of<ConvAttributes>(node).group > 1;
  }

  /// Checks for a product of f32 by constants whose sizes suit tile registers.
  bool multiplies_in_tiles(const Node& node) const {
    if (!multiplies_constants(node)) return false;
    const Shape& sizes = graph_.value(node.inputs[1]).constant->shape();
    if (op_of(node) == CoreOp::matmul)
      return sizes.size() == 2 && sizes[1] >= amx_tile && sizes[0] >= amx_least_depth(2);
    const SymbolicShape& out = sizes_of(graph_, node.outputs[0]);
    const auto is_number = [](const Dim& size) { return size.is_number(); };
    return attributes_of<ConvAttributes>(node).group == 1 &&
           std::all_of(out.begin() + 2, out.end(), is_number) && sizes[0] >= amx_tile &&
           sizes[1] >= amx_least_depth(2);
  }

  /// Returns the product on tile registers whose kernel computes a value that has one reader.
  NodeId product_behind(ValueId value) const {
    for (;;) {
      const NodeId producer = graph_.value(value).producer;
      if (producer == no_node || readers_[index(value)].size() != 1) return no_node;
      const Node& node = graph_.node(producer);
      if (multiplies_in_tiles(node)) return producer;
      const std::vector<ValueId> read = computed_inputs(node);
      if (form_of(node) != Form::elementwise || read.size() != 1) return no_node;
      value = read[0];
    }
  }

  std::vector<ValueId> computed_inputs(const Node& node) const {
    std::vector<ValueId> inputs = node.inputs;
    std::erase_if(inputs, [&](ValueId input) { return graph_.value(input).constant.has_value(); });
    return inputs;
  }

  /// Returns which of two products that a node joins is in memory before the kernel of the other reads it.
  ValueId second_product(const Node& node) const {
    const std::vector<ValueId> joined = computed_inputs(node);
    if (form_of(node) != Form::elementwise || joined.size() != 2) return no_value;
    const NodeId first = product_behind(joined[0]), second = product_behind(joined[1]);
    if (first == no_node || second == no_node) return no_value;
    return joined[first < second ? 1 : 0];
  }

  /// Returns the value whose elements a value consists of.
  ValueId origin_of(ValueId value) const {
    for (NodeId producer = graph_.value(value).producer; producer != no_node && moves(graph_.node(producer));
         producer = graph_.value(value).producer)
      value = graph_.node(producer).inputs[0];
    return value;
  }

  /// Checks whether the kernel that computes a value can round it, and all kernels that read it can widen it.
  /// What a reduction leaves is too little to matter.
  bool may_round(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    if (producer == no_node || !is_f32(value)) return false;
    const Form form = form_of(graph_.node(producer));
    return (form == Form::contraction || form == Form::elementwise) && can_be_read(value);
  }

  bool can_be_read(ValueId value) const {
    if (is_output(value)) return false;
    return std::ranges::all_of(readers_[index(value)], [&](NodeId id) {
      const Node& reader = graph_.node(id);
      if (moves(reader)) return can_be_read(reader.outputs[0]);
      const Form form = form_of(reader);
      return form == Form::elementwise || form == Form::reduction ||
             (multiplies_constants(reader) && reader.inputs[0] == value);
    });
  }

  /// Makes a node read rounded values: products as they are, what moves numbers too, all others as f32.
  void read_rounded(Node& node) {
    const bool is_product = multiplies_constants(node), is_mover = moves(node);
    const bool keeps_weights = is_depthwise(node);
    for (ValueId& input : node.inputs) {
      const auto rounded = rounded_.find(input);
      if (rounded == rounded_.end()) continue;
      input = is_product || is_mover ? rounded->second : convert(node.name, rounded->second, DType::f32);
    }
    if (is_product && !keeps_weights && !is_f32(node.inputs[0]))
      node.inputs[1] = rounded_weights(node.inputs[1]);
    if (!is_mover || graph_.value(node.inputs[0]).type.dtype != DType::bf16) return;
    graph_.value(node.outputs[0]).type.dtype = DType::bf16;
    rounded_[node.outputs[0]] = node.outputs[0];
  }

  /// Appends a conversion that belongs to a node of the model.
  ValueId convert(const std::string& source, ValueId value, DType dtype) {
    ValueType type = graph_.value(value).type;
    type.dtype = dtype;
    const ValueId to =
        graph_.add_value(fmt::format("{}_{}_{}", graph_.value(value).name, dtype_name(dtype), conversions_++),
                         std::move(type));
    graph_.add_node(make_node(source, CoreOp::cast, {value}, {to}, default_attributes(CoreOp::cast)));
    return to;
  }

  ValueId rounded_weights(ValueId weights) {
    const auto [at, is_new] = weights_.try_emplace(weights, no_value);
    if (is_new) {
      const Value& from = graph_.value(weights);
      at->second = graph_.add_constant(from.name + "_bf16", narrowed(*from.constant, DType::bf16));
    }
    return at->second;
  }

  Graph& graph_;
  const Isa& isa_;
  const std::vector<std::vector<NodeId>> readers_;  // of the graph as it was
  std::vector<bool> rounds_;                        // whether a kernel rounds a value that it computes
  std::map<ValueId, ValueId> rounded_;              // values that are rounded, and as bf16
  std::map<ValueId, ValueId> weights_;              // constants, and as bf16
  int conversions_ = 0;
};

}  // namespace

void round_factors(Graph& graph, const Isa& isa) {
  if (isa.has_amx()) FactorRounder(graph, isa).run();
}

}  // namespace intarsia::halide
