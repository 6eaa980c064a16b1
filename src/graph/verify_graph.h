// Invariants of every graph between passes.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Checks that ids are in range, nodes are in topological order, every value has at most one producer and
/// knows it, constants have no producer and their own type, inputs are not constants and listed once, value
/// names are unique, the arity of known operators is that of the op table. The error names the node or value.
Status verify_graph(const Graph& graph);

/// Checks that a node of the op table has as many inputs and outputs as its operator takes; a foreign one may
/// have any number.
Status verify_arity(const Node& node);

}  // namespace intarsia
