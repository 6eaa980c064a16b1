// Model for probing whether a framework takes a node.
#pragma once

#include "graph/graph.h"

namespace intarsia {

struct ProbeOptions {
  bool keep_constants = false;  // keep all constants, not only those that frameworks may need to build
  bool keep_sizes = false;
};

/// Returns the single node as a graph whose sizes are erased (ranks stay) and whose names, unless a subgraph
/// reads them, are made uniform, so that equal nodes of a model give equal graphs. Small integer, bool and
/// string constants stay, as frameworks may need them to build; all others become inputs unless they are
/// kept. If the type of an input is unknown, its producers are included, since the framework may know it.
///
///   y = Add(x: f32[2,3], w: f32[3] constant)   ->   o0 = Add(i0: f32[?,?], i1: f32[?])
Graph make_probe(const Graph& graph, NodeId node, ProbeOptions options = {});

}  // namespace intarsia
