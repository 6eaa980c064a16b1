#include "passes/infer_shapes.h"

#include "graph/element_rules.h"
#include "graph/op_table.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

/// Checks that the sizes that are numbers fit into memory, so that rules may calculate with them.
Status check_sizes(const Graph& graph, const Node& node) {
  for (ValueId output : node.outputs) {
    if (output == no_value || !graph.value(output).type.shape) continue;
    Shape known;
    for (const Dim& dim : *graph.value(output).type.shape) {
      if (dim.is_number()) known.push_back(dim.number());
    }
    TRY(with_context(checked_elements(known), "output '{}'", graph.value(output).name));
  }
  return {};
}

/// Sets the rows that StringSplitV2 of TensorFlow makes, one for each text: the first element of the shape,
/// its third output.
void infer_split_rows(Graph& graph, const Node& node) {
  const bool splits = is_tensorflow(node) && node.op == "StringSplitV2" && has_output(node, 2);
  if (!splits || !has_input(node, 0)) return;
  const ValueType& texts = graph.value(node.inputs[0]).type;
  ValueType& made = graph.value(node.outputs[2]).type;
  if (texts.shape && texts.shape->size() == 1 && can_have_elements(made, 2))
    made.elements = {texts.shape->front(), Dim::unknown()};
}

Status infer_known(Graph& graph, const Node& node, const InferForeign& infer_foreign, NodeId id) {
  const OpInfo* info = find_op(node);
  if (info == nullptr || info->rule == nullptr) {
    if (infer_foreign) TRY(infer_foreign(graph, id));
    infer_split_rows(graph, node);
  } else {
    ShapeContext context(graph, node);
    TRY(info->rule(context));
    infer_elements(graph, node);
  }
  return check_sizes(graph, node);
}

}  // namespace

Status infer_node(Graph& graph, NodeId id, const InferForeign& infer_foreign) {
  const Node& node = graph.node(id);
  return with_context(infer_known(graph, node, infer_foreign, id), "node '{}' ({})", node.name, node.op);
}

Status infer_shapes(Graph& graph, const InferForeign& infer_foreign) {
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) TRY(infer_node(graph, NodeId{i}, infer_foreign));
  return {};
}

}  // namespace intarsia
