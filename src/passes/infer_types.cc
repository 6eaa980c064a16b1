#include "passes/infer_types.h"

#include <algorithm>
#include <set>

#include "graph/data_sizes.h"
#include "passes/translated.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

/// Removes from a type of a node's translation the sizes that are named after values inside it.
ValueType known_outside(ValueType type, const Graph& graph, const Node& node) {
  std::set<std::string> known;
  for (ValueId input : node.inputs) {
    if (input == no_value) continue;
    const ValueType& of = graph.value(input).type;
    for (const auto& sizes : {of.shape, of.elements})
      if (sizes)
        for (const Dim& size : *sizes) known.merge(size.symbols());
  }
  const auto forget = [&](std::vector<Dim>& sizes) {
    for (Dim& size : sizes)
      if (!std::ranges::includes(known, size.symbols())) size = Dim::unknown();
  };
  if (type.shape) forget(*type.shape);
  if (type.elements) forget(*type.elements);
  return type;
}

/// Gives a foreign node's outputs the types, and the values if known, of its translation. A node without one,
/// or whose translation does not fit its inputs, is left to its framework.
Status infer_translated(Graph& graph, NodeId id, const Evaluate& evaluate,
                        const InferForeign& infer_foreign) {
  const Result<Graph> translated = translated_node(graph, id, evaluate, Weights::by_type);
  if (!translated) return infer_node(graph, id, infer_foreign);
  std::vector<Tensor> known;
  std::vector<std::shared_ptr<const FoldedNode>> notes;
  size_t number = 0;
  for (ValueId output : graph.node(id).outputs) {
    if (output == no_value) continue;
    const Value& value = translated->value(translated->outputs[number++]);
    graph.value(output).type = known_outside(value.type, graph, graph.node(id));
    if (!value.constant) continue;
    known.push_back(*value.constant);
    notes.push_back(value.folded);
  }
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  if (known.size() != number || number != outputs.size()) return {};
  detach_outputs(graph, id, std::move(known));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (notes[i] != nullptr) graph.value(outputs[i]).folded = notes[i];
  return {};
}

}  // namespace

Status infer_types(Graph& graph, const Evaluate& evaluate, const InferForeign& infer_foreign) {
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id{i};
    TRY(is_foreign(graph.node(id)) ? infer_translated(graph, id, evaluate, infer_foreign)
                                   : infer_node(graph, id, infer_foreign));
    if (std::optional<std::vector<Tensor>> outputs = fold_node(graph, id, evaluate))
      detach_outputs(graph, id, std::move(*outputs));
    else
      name_data_sizes(graph, graph.node(id));
  }
  return {};
}

}  // namespace intarsia
