// First passes on an untrusted graph, limited to little memory and time.
#pragma once

#include <algorithm>

#include "backends/reference/evaluate.h"
#include "passes/bind_shapes.h"
#include "passes/infer_types.h"

namespace intarsia {

/// Checks for few elements. Sizes of 0 count as 1: the other sizes of an empty tensor also cost time and
/// memory.
inline bool is_small(Shape shape) {
  std::ranges::replace(shape, 0, 1);
  return element_count(shape) <= 1 << 12;
}

/// Binds, infers and folds. Nodes with big inputs or outputs are not evaluated; in total at most 64
/// evaluations are allowed.
inline void fold_with_budget(Graph& graph) {
  if (!bind_shapes(graph, {}, Unmentioned::become_one)) return;
  int evaluations = 64;
  const Evaluate evaluate = [&](const Node& node,
                                std::span<const Tensor* const> inputs) -> Result<std::vector<Tensor>> {
    for (const Tensor* input : inputs) {
      if (input != nullptr && !is_small(input->shape())) return fail("too big");
    }
    // A node of a translation belongs to a graph that is unknown here; folding itself bounds its outputs.
    const bool is_known = &node >= graph.nodes.data() && &node < graph.nodes.data() + graph.nodes.size();
    for (ValueId output : node.outputs) {
      if (output == no_value || !is_known) continue;
      const std::optional<Shape> shape = graph.value(output).type.fixed_shape();
      if (!shape || !is_small(*shape)) return fail("too big");
    }
    if (evaluations-- <= 0) return fail("too many");
    return reference::evaluate_node(node, inputs);
  };
  (void)infer_types(graph, evaluate, {});
}

}  // namespace intarsia
