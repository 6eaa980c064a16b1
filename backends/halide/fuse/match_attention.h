// Operators of an attention in a canonical graph, which become one kernel.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace intarsia::halide {

/// Nodes of one attention in a canonical graph:
///   scores -> between... -> largest -> shifted -> exponents -> sum -> probabilities -> product
struct AttentionNodes {
  NodeId scores;                                           // MatMul of queries by keys
  std::vector<NodeId> between;                             // elementwise nodes: scale, mask
  NodeId largest, shifted, exponents, sum, probabilities;  // softmax along the last axis
  NodeId product;                                          // MatMul of the probabilities by the values

  /// Returns the nodes in the order above, from the scores to the product.
  std::vector<NodeId> all() const;
  static AttentionNodes from_all(const std::vector<NodeId>& nodes);
  bool operator==(const AttentionNodes&) const = default;
};

/// Finds the f32 attention that starts at this node; nullopt if other nodes read the values inside it.
std::optional<AttentionNodes> find_attention(const Graph& graph,
                                             const std::vector<std::vector<NodeId>>& readers, NodeId scores);

}  // namespace intarsia::halide
