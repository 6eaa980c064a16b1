// The operators of an attention in a canonical graph, which become one kernel.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace intarsia::halide {

/// The nodes of one attention in a canonical graph:
///   scores -> between... -> largest -> shifted -> exponents -> sum -> probabilities -> product
struct AttentionNodes {
  NodeId scores;                                           // MatMul of queries by keys
  std::vector<NodeId> between;                             // elementwise: scale, mask
  NodeId largest, shifted, exponents, sum, probabilities;  // the softmax along the last axis
  NodeId product;                                          // MatMul of the probabilities by the values

  /// As above, from the scores to the product.
  std::vector<NodeId> all() const;
  static AttentionNodes from_all(const std::vector<NodeId>& nodes);
  bool operator==(const AttentionNodes&) const = default;
};

/// The f32 attention that begins at this node, if nothing else reads the values inside.
std::optional<AttentionNodes> find_attention(const Graph& graph,
                                             const std::vector<std::vector<NodeId>>& readers, NodeId scores);

}  // namespace intarsia::halide
