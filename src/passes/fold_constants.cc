#include "passes/fold_constants.h"

#include <algorithm>

#include "graph/element_rules.h"
#include "graph/op_table.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

constexpr size_t small_bytes = 1 << 20;
/// Limit for dequantized constants: so they stay beside what reads them, and products see the integers.
constexpr size_t dequantized_bytes = 64 << 20;

/// Returns the inputs (null for omitted ones), or nullopt unless all are constants.
std::optional<std::vector<const Tensor*>> known_inputs(const Graph& graph, const Node& node) {
  std::vector<const Tensor*> inputs;
  for (ValueId input : node.inputs) {
    if (input != no_value && !graph.value(input).constant) return std::nullopt;
    inputs.push_back(input == no_value ? nullptr : &*graph.value(input).constant);
  }
  return inputs;
}

bool dequantizes(const Node& node) { return node.op == "DequantizeLinear"; }

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
  return bytes_out <= std::max(dequantizes(node) ? dequantized_bytes : small_bytes, bytes_in);
}

void make_constant(Graph& graph, ValueId id, Tensor tensor) {
  if (id == no_value) return;
  Value& value = graph.value(id);
  value.type = ValueType{tensor.dtype(), to_symbolic(tensor.shape()), false, {}};
  value.constant = std::move(tensor);
}

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

/// Returns all outputs of a node from the types alone.
std::optional<std::vector<Tensor>> outputs_of_sizes(const Graph& graph, const Node& node) {
  std::vector<Tensor> outputs;
  for (ValueId id : node.outputs) {
    std::optional<Tensor> value = id == no_value ? std::nullopt : tensor_of_elements(graph.value(id).type);
    if (!value) return std::nullopt;
    outputs.push_back(std::move(*value));
  }
  return outputs.empty() ? std::nullopt : std::optional(std::move(outputs));
}

}  // namespace

std::optional<std::vector<Tensor>> fold_node(const Graph& graph, NodeId id, const Evaluate& evaluate) {
  const Node& node = graph.node(id);
  if (auto outputs = outputs_of_sizes(graph, node)) return outputs;
  if (is_tensorflow(node)) return std::nullopt;  // known outputs already came from its translation
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
