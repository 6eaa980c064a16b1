// Inference of the types and shapes of all values.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace intarsia {

/// Sets the output types of a node whose operator is not in the op table, by asking a framework or a user's
/// kernel library.
using InferForeign = std::function<Status(Graph&, NodeId)>;

/// Infers the output types of one node from those of its inputs. Outputs that a framework does not know, or
/// is not asked about, keep the type that the model claims.
Status infer_node(Graph& graph, NodeId node, const InferForeign& infer_foreign);

/// Infers the types of all nodes in order. Afterwards every value that a known operator produces has a dtype;
/// a size is a number or unknown until run time.   %y = Relu(%x : f32[1,8])  ->  %y : f32[1,8]
Status infer_shapes(Graph& graph, const InferForeign& infer_foreign);

}  // namespace intarsia
