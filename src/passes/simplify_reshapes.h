// Reshapes that need not read a computed shape.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Replaces the shape that a Reshape reads by a constant where its open sizes are those of the same axes of
/// the input, written as 0, or it has one other, written as -1. Nodes that compute it may become dead.
///   %s : i64[3]<n,12,64>, %y = Reshape(%x : f32[12*n,64], %s)  ->   %y = Reshape(%x, [-1,12,64])
///   %s : i64[3]<b,s,4>, %y = Reshape(%x : f32[b,s,2,2], %s)    ->   %y = Reshape(%x, [0,0,4])
void simplify_reshapes(Graph& graph);

}  // namespace intarsia
