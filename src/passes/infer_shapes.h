// Types and shapes of all values.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace intarsia {

/// Sets the output types of a node whose operator is not in the op table (asks a framework, a user's kernel
/// library).
using InferForeign = std::function<Status(Graph&, NodeId)>;

/// Output types of one node from those of its inputs. What a framework is not asked about or does not know
/// stays as the model claims.
Status infer_node(Graph& graph, NodeId node, const InferForeign& infer_foreign);

/// The same for all nodes in order. After it every value that a known operator produces has a dtype; a size
/// is a number or unknown until run time.   %y = Relu(%x : f32[1,8])  ->  %y : f32[1,8]
Status infer_shapes(Graph& graph, const InferForeign& infer_foreign);

}  // namespace intarsia
