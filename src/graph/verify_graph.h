// What holds of every graph between passes.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Ids are in range, nodes stand in topological order, every value has at most one producer and knows it,
/// constants have no producer and their own type, inputs are no constants and listed once, names are unique,
/// the arity of known operators is that of the op table. The error names the node or value.
Status verify_graph(const Graph& graph);

/// That a node of the op table has as many inputs and outputs as its operator; one that is foreign may have
/// any.
Status verify_arity(const Node& node);

}  // namespace intarsia
