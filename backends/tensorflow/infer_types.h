// Types of values that only TensorFlow can tell.
#pragma once

#include "graph/graph.h"

namespace intarsia::tf {

/// Sets the types of the node's outputs to what TensorFlow infers from the types and constants of its inputs;
/// nodes that make resources and variants come along, so that it knows what is in them. Leaves them as they
/// are when TensorFlow does not take the node: what it cannot type it cannot run either.
Status infer_types(Graph& graph, NodeId node);

}  // namespace intarsia::tf
