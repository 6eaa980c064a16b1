// Readable text form of a graph.
#pragma once

#include <string>

#include "graph/graph.h"

namespace intarsia {

struct PrintOptions {
  int64_t inline_elements = 16;  // tensors with more elements are printed as their digest (tensor_digest.h)
};

/// Prints one line per item; parse_graph reads it back:
///   graph "net" opsets {"": 17}
///   input %x : f32[batch,3]
///   const %w : f32[3] = {1.0, 2.0, 3.0}
///   const %v : f32[64,64] = xxh3:0123456789abcdef
///   %y : f32[batch,3], _ = Foo(%x, %w, _) captures(%c) {axes=[0,1], mode="a", empty=ints[]} "node name"
///   output %y
/// An operator is `Conv`, `com.microsoft::Foo`, or `Conv.11` where its version is not the one that the graph
/// declares for the domain. A value about which nothing is known has no type; a node without a name has that
/// of its first output; `_` is an omitted input or output, `() = Foo(%x)` a node without outputs. Attribute
/// tensors are `value=f32[2]{1.0, 2.0}`, data for a framework alone is `body=encoded<hex>`. The text
/// is ASCII.
std::string print_graph(const Graph& graph, const PrintOptions& options = {});

/// Returns the line of one node, without a line break.
std::string print_node(const Graph& graph, NodeId node, const PrintOptions& options = {});

}  // namespace intarsia
