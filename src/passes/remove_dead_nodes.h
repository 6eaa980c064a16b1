// Drops what no output needs.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Removes nodes none of whose outputs is read or is an output of the graph, and the values that are then
/// left over. Inputs of the graph stay.   %a = Relu(%x); %b = Exp(%x); return %b   ->   %b = Exp(%x); return
/// %b
void remove_dead_nodes(Graph& graph);

}  // namespace intarsia
