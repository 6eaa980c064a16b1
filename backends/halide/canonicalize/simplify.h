// Rewrites of the canonical graph that involve more than one node: constants per channel move into the
// weights before them, padding into the convolution after it, reshapes after the elementwise nodes that
// follow a product.
//   conv -> mul(c) -> add(b) -> relu        ->  conv (weights * c) -> add(b) -> relu
//   matmul -> reshape -> add(b) -> reshape  ->  matmul -> add(b) -> reshape
#pragma once

#include "graph/graph.h"

namespace intarsia::halide {

void simplify(Graph& graph);

}  // namespace intarsia::halide
