// Arithmetic and memory traffic of a node, for profiles.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Returns the operations in the products of a Conv, ConvTranspose, MatMul or Gemm, where a multiply and an
/// add count as two and padding is included; 0 for other operators and where sizes are unknown.
uint64_t count_operations(const Graph& graph, const Node& node);

/// Estimates the operations of the best library: Winograd's transforms avoid most operations of a convolution
/// with a window. Returns 0 where values of fewer bits than f32 may be multiplied, and where count_operations
/// does.
uint64_t count_least_operations(const Graph& graph, const Node& node);

/// Returns the bytes of the node's inputs and outputs; an input from which it picks elements counts at most
/// as much as the outputs. Returns 0 where sizes are unknown or values are not numbers.
uint64_t count_bytes(const Graph& graph, const Node& node);

/// Returns the shape of the second input of the operators of count_operations; empty for others.
Shape weights_shape(const Graph& graph, const Node& node);

}  // namespace intarsia
