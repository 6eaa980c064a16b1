// Computes at compile time what does not depend on the inputs' data.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "passes/infer_shapes.h"

namespace intarsia {

/// Runs one node on known inputs (null: omitted); fails when it has no kernel for them.
using Evaluate = std::function<Result<std::vector<Tensor>>(const Node&, std::span<const Tensor* const>)>;

/// Walks the nodes in order, infers the types of each, and makes its outputs constants when all its inputs
/// are, so that shape arithmetic is numbers by the time later nodes are inferred. Shape and Size need only
/// their input's type, and so does what picks known sizes from a partly known shape (known_elements.h).
/// Random nodes stay, and so do nodes that would turn small constants into over a megabyte.
///   %s = Shape(%x : f32[2,3]); %n = Gather(%s, 0)   ->   %s = const [2,3], %n = const 2
/// The nodes themselves stay, now without readers, for remove_dead_nodes.
Status fold_constants(Graph& graph, const Evaluate& evaluate, const InferForeign& infer_foreign);

}  // namespace intarsia
