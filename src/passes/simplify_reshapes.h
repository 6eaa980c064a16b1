// Reshapes that need not read a computed shape.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Replaces the shape that a Reshape reads by a constant with -1 where it has one open size and otherwise
/// positive numbers. Nodes that compute it may become dead.
///   %s : i64[3]<n,12,64>, %y = Reshape(%x, %s)   ->   %y = Reshape(%x, [-1,12,64])
void simplify_reshapes(Graph& graph);

}  // namespace intarsia
