// Types of values that only ONNX Runtime knows: the outputs of operators that our op table lacks.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Sets the types of the node's outputs to what ONNX Runtime infers for the single node (dtype, rank, the
/// sizes it knows; sequences and optionals as opaque types). Leaves them as they are if ONNX Runtime is not
/// installed or refuses the node: a node that it cannot type it cannot run either. Serves as the hook of
/// infer_shapes.
Status infer_types_with_onnxruntime(Graph& graph, NodeId node);

}  // namespace intarsia
