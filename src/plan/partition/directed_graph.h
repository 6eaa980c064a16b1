// Directed graphs for placing and partitioning: `next[v]` are the vertices that v leads to.
#pragma once

#include <cstdint>
#include <vector>

namespace intarsia {

using Neighbors = std::vector<std::vector<uint32_t>>;

/// Returns the edges the other way around.
Neighbors reverse_edges(const Neighbors& next);

/// Returns, for each vertex, the lowest vertex of its strongly connected component: itself if it lies on no
/// cycle. Linear in vertices and edges (Tarjan, 1972; Boost.Graph's, which does not recurse).
///   0 -> 1 -> 2 -> 1, 2 -> 3:  0 1 1 3
std::vector<uint32_t> strong_components(const Neighbors& next);

}  // namespace intarsia
