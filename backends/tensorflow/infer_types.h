// Types of values that only TensorFlow knows.
#pragma once

#include "graph/graph.h"

namespace intarsia::tf {

/// Sets the types of the node's outputs to what TensorFlow infers from the types and constants of its inputs;
/// producers of resources and variants are included, so that it knows what is in them. Leaves them as they
/// are if TensorFlow refuses the node: a node that it cannot type it cannot run either.
Status infer_types(Graph& graph, NodeId node);

}  // namespace intarsia::tf
