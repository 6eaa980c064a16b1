#include "passes/infer_types.h"

#include "passes/translated.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

/// Gives a TensorFlow node's outputs the types, and the values if known, of its translation. A node without
/// one, or whose translation does not fit its inputs, is left to TensorFlow.
Status infer_translated(Graph& graph, NodeId id, const Evaluate& evaluate,
                        const InferForeign& infer_foreign) {
  const Result<Graph> translated = translated_node(graph, id, evaluate, Weights::by_type);
  if (!translated) return infer_node(graph, id, infer_foreign);
  std::vector<Tensor> known;
  size_t number = 0;
  for (ValueId output : graph.node(id).outputs) {
    if (output == no_value) continue;
    const Value& value = translated->value(translated->outputs[number++]);
    graph.value(output).type = value.type;
    if (value.constant) known.push_back(*value.constant);
  }
  if (known.size() == number && number == graph.node(id).outputs.size())
    detach_outputs(graph, id, std::move(known));
  return {};
}

}  // namespace

Status infer_types(Graph& graph, const Evaluate& evaluate, const InferForeign& infer_foreign) {
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id{i};
    TRY(is_tensorflow(graph.node(id)) ? infer_translated(graph, id, evaluate, infer_foreign)
                                      : infer_node(graph, id, infer_foreign));
    if (std::optional<std::vector<Tensor>> outputs = fold_node(graph, id, evaluate))
      detach_outputs(graph, id, std::move(*outputs));
  }
  return {};
}

}  // namespace intarsia
