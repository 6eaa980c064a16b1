// The arithmetic and the memory traffic of a node, for profiles.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Of the products of a Conv, ConvTranspose, MatMul or Gemm, a multiply and an add counted as two; padding is
/// multiplied, too. 0 for other operators, and where sizes are not known.
uint64_t count_operations(const Graph& graph, const Node& node);

/// About as many as the best library computes: Winograd's transforms avoid most operations of a convolution
/// with a window. 0 where fewer bits than f32 may be multiplied, and where count_operations is.
uint64_t count_least_operations(const Graph& graph, const Node& node);

/// Bytes of its inputs and outputs, each once; an input from which it picks elements counts as much as the
/// outputs. 0 where sizes are not known, and for what are not numbers.
uint64_t count_bytes(const Graph& graph, const Node& node);

/// The second input of those operators.
Shape weights_shape(const Graph& graph, const Node& node);

}  // namespace intarsia
