// Inference of all types, and of the values that do not depend on the inputs' data.
#pragma once

#include "passes/fold_constants.h"
#include "passes/infer_shapes.h"

namespace intarsia {

/// Walks the nodes in order, infers the types of each (a TensorFlow node's are those of its translation), and
/// turns known outputs into constants (fold_node), since types of later nodes depend on them: shape
/// arithmetic consists of numbers by the time it is read. Random nodes stay, and so do nodes that would turn
/// small constants into over a megabyte.
///   %s = Shape(%x : f32[2,3]); %n = Gather(%s, 0)   ->   %s = const [2,3], %n = const 2
/// The nodes themselves stay, without readers, for remove_dead_nodes.
Status infer_types(Graph& graph, const Evaluate& evaluate, const InferForeign& infer_foreign);

}  // namespace intarsia
