// The first passes on an untrusted graph, held to little memory and time.
#pragma once

#include "backends/reference/evaluate.h"
#include "passes/bind_shapes.h"
#include "passes/fold_constants.h"
#include "passes/infer_shapes.h"

namespace intarsia {

/// Binds, infers and folds. Nodes with big inputs or outputs are not evaluated, nor more than a few nodes in
/// all.
inline void fold_with_budget(Graph& graph) {
  constexpr int64_t most_elements = 1 << 14;
  if (!bind_shapes(graph, {})) return;
  int evaluations = 64;
  const Evaluate evaluate = [&](const Node& node,
                                std::span<const Tensor* const> inputs) -> Result<std::vector<Tensor>> {
    for (const Tensor* input : inputs) {
      if (input != nullptr && element_count(input->shape()) > most_elements) return fail("too big");
    }
    for (ValueId output : node.outputs) {
      if (output == no_value) continue;
      const std::optional<Shape> shape = graph.value(output).type.fixed_shape();
      if (!shape || element_count(*shape) > most_elements) return fail("too big");
    }
    if (evaluations-- <= 0) return fail("too many");
    return reference::evaluate_node(node, inputs);
  };
  (void)fold_constants(graph, evaluate, {});
}

}  // namespace intarsia
