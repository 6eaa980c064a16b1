// Removal of nodes that no output needs.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Removes nodes whose outputs are neither read nor outputs of the graph, and the values left over. Inputs of
/// the graph stay.
///   %a = Relu(%x); %b = Exp(%x); return %b   ->   %b = Exp(%x); return %b
void remove_dead_nodes(Graph& graph);

}  // namespace intarsia
