// Sizes that depend on data: those of what NonZero, Unique or a framework's operator makes.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Gives sizes of a node's outputs that no rule knows names of their own, so that sizes that follow from them
/// are expressions, and equal where they are the same.
///   %i : i64[2,?] = NonZero(%x); %t = Transpose(%i)   ->   %i : i64[2,"size 1 of i"], %t : i64["size 1 of
///   i",2]
void name_data_sizes(Graph& graph, const Node& node);

/// Checks whether a size is not known before a run, although all open sizes are.
bool depends_on_data(const Graph& graph, const Dim& size);

/// Replaces sizes that depend on data by unknown ones.
SymbolicShape without_data_sizes(const Graph& graph, SymbolicShape shape);

}  // namespace intarsia
