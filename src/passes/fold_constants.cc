#include "passes/fold_constants.h"

#include <algorithm>
#include <array>

#include "graph/op_table.h"
#include "passes/known_elements.h"
#include "passes/translated.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

constexpr size_t small_bytes = 1 << 20;

/// Returns the output of Shape or Size, which depends only on the input's shape.
std::optional<Tensor> value_of_shape(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || !has_input(node, 0)) return std::nullopt;
  const std::optional<Shape> shape = graph.value(node.inputs[0]).type.fixed_shape();
  if (!shape) return std::nullopt;
  if (node.op == "Size") {
    Tensor size(DType::i64, {});
    size.as<int64_t>()[0] = element_count(*shape);
    return size;
  }
  if (node.op != "Shape") return std::nullopt;
  const int64_t rank = static_cast<int64_t>(shape->size());
  const auto clamp_axis = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = clamp_axis(node.attributes.get_int("start", 0));
  const int64_t end = std::max(start, clamp_axis(node.attributes.get_int("end", rank)));
  Tensor sizes(DType::i64, {end - start});
  std::copy(shape->begin() + start, shape->begin() + end, sizes.as<int64_t>().begin());
  return sizes;
}

/// Returns the inputs (null for omitted ones), or nullopt unless all are constants.
std::optional<std::vector<const Tensor*>> known_inputs(const Graph& graph, const Node& node) {
  std::vector<const Tensor*> inputs;
  for (ValueId input : node.inputs) {
    if (input != no_value && !graph.value(input).constant) return std::nullopt;
    inputs.push_back(input == no_value ? nullptr : &*graph.value(input).constant);
  }
  return inputs;
}

bool is_worth_folding(const Graph& graph, const Node& node, const std::vector<const Tensor*>& inputs) {
  const OpInfo* info = find_op(node);
  if (info == nullptr || !info->deterministic || !node.captures.empty()) return false;
  size_t bytes_in = 0, bytes_out = 0;
  for (const Tensor* input : inputs) bytes_in += input ? input->bytes() : 0;
  for (ValueId output : node.outputs) {
    if (output == no_value) continue;
    const ValueType& type = graph.value(output).type;
    if (type.opaque) return false;
    const std::optional<Shape> shape = type.fixed_shape();
    bytes_out += shape ? dtype_bytes(type.dtype, static_cast<size_t>(element_count(*shape))) : bytes_in;
  }
  return bytes_out <= std::max(small_bytes, bytes_in);
}

void make_constant(Graph& graph, ValueId id, Tensor tensor) {
  if (id == no_value) return;
  Value& value = graph.value(id);
  value.type = ValueType{tensor.dtype(), to_symbolic(tensor.shape()), false, {}};
  value.constant = std::move(tensor);
}

bool dequantizes(const Node& node) { return node.op == "DequantizeLinear"; }

/// Returns the node if it dequantizes or reads the output of such a node; else null. Earlier nodes are
/// dropped, so that a long chain of constants needs no more memory.
std::shared_ptr<const FoldedNode> remember_quantized(const Graph& graph, const Node& node) {
  FoldedNode folded{node, {}};
  bool is_quantized = dequantizes(node);
  for (ValueId input : node.inputs) {
    Value value = input == no_value ? Value{} : graph.value(input);
    if (!value.name.empty() && !value.constant) return nullptr;
    if (value.folded && (dequantizes(node) || !dequantizes(value.folded->node))) value.folded = nullptr;
    is_quantized |= value.folded != nullptr;
    folded.inputs.push_back(std::move(value));
  }
  if (!is_quantized || node.outputs.size() != 1) return nullptr;
  return std::make_shared<const FoldedNode>(std::move(folded));
}

/// Returns the node's outputs from inputs that are all known; nullopt if they cannot be computed.
std::optional<std::vector<Tensor>> compute(const Graph& graph, NodeId id, const Evaluate& evaluate) {
  const Node& node = graph.node(id);
  if (!is_tensorflow(node)) {
    const std::optional<std::vector<const Tensor*>> inputs = known_inputs(graph, node);
    Result<std::vector<Tensor>> outputs = inputs ? evaluate(node, *inputs) : fail("an input is not known");
    return outputs ? std::optional(std::move(*outputs)) : std::nullopt;
  }
  const Result<Graph> translated = translated_node(graph, id, evaluate, Weights::by_type);
  if (!translated) return std::nullopt;
  std::vector<Tensor> outputs;
  for (ValueId output : translated->outputs) {
    if (!translated->value(output).constant) return std::nullopt;
    outputs.push_back(*translated->value(output).constant);
  }
  return outputs;
}

Tensor make_elements(DType dtype, const std::vector<std::optional<int64_t>>& elements, int64_t unknown) {
  Tensor tensor(dtype, {static_cast<int64_t>(elements.size())});
  for (size_t i = 0; i < elements.size(); ++i) {
    const int64_t element = elements[i].value_or(unknown);
    if (dtype == DType::i64)
      tensor.as<int64_t>()[i] = element;
    else
      tensor.as<int32_t>()[i] = static_cast<int32_t>(element);
  }
  return tensor;
}

/// Returns the outputs of a node that picks only known elements of a partly known shape, so that the unknown
/// ones do not matter.   %n = Gather(Shape(%x : f32[4,?]), 0)   ->   4
std::optional<std::vector<Tensor>> compute_from_part(Graph& graph, NodeId id, const Evaluate& evaluate) {
  const Node& node = graph.node(id);
  if (!only_moves_elements(node) || !has_input(node, 0) || graph.value(node.inputs[0]).constant)
    return std::nullopt;
  const auto elements = known_elements(graph, node.inputs[0]);
  Value& shape = graph.value(node.inputs[0]);
  if (!elements || (shape.type.dtype != DType::i32 && shape.type.dtype != DType::i64)) return std::nullopt;
  std::array<std::optional<std::vector<Tensor>>, 2> outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    shape.constant = make_elements(shape.type.dtype, *elements, 1'000'003 + static_cast<int64_t>(i));
    outputs[i] = compute(graph, id, evaluate);
    shape.constant.reset();
    if (!outputs[i]) return std::nullopt;
  }
  return outputs[0] == outputs[1] ? outputs[0] : std::nullopt;
}

}  // namespace

std::optional<std::vector<Tensor>> fold_node(Graph& graph, NodeId id, const Evaluate& evaluate) {
  if (auto outputs = compute_from_part(graph, id, evaluate)) return outputs;
  const Node& node = graph.node(id);
  if (is_tensorflow(node)) return std::nullopt;  // known outputs already came from its translation
  if (std::optional<Tensor> sizes = value_of_shape(graph, node)) return std::vector{std::move(*sizes)};
  const std::optional<std::vector<const Tensor*>> inputs = known_inputs(graph, node);
  if (!inputs || !is_worth_folding(graph, node, *inputs)) return std::nullopt;
  // Nodes that cannot be computed now are left to the backends, which decide whether that is an error.
  Result<std::vector<Tensor>> outputs = evaluate(node, *inputs);
  return outputs ? std::optional(std::move(*outputs)) : std::nullopt;
}

void detach_outputs(Graph& graph, NodeId id, std::vector<Tensor> tensors) {
  const std::shared_ptr<const FoldedNode> folded = remember_quantized(graph, graph.node(id));
  for (size_t i = 0; i < graph.node(id).outputs.size() && i < tensors.size(); ++i) {
    const ValueId output = graph.node(id).outputs[i];
    if (output == no_value) continue;
    graph.value(output).producer = no_node;
    make_constant(graph, output, std::move(tensors[i]));
    graph.value(output).folded = folded;
    graph.node(id).outputs[i] = no_value;
  }
}

}  // namespace intarsia
