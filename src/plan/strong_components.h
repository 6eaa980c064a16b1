// Which vertices of a directed graph lie on cycles with each other.
#pragma once

#include <cstdint>
#include <vector>

namespace intarsia {

/// For every vertex the lowest vertex of its strongly connected component: itself where it lies on no cycle.
/// `next[v]` are the vertices that v leads to. Linear in vertices and edges (Tarjan, 1972), without
/// recursion.
///   0 -> 1 -> 2 -> 1, 2 -> 3:  0 1 1 3
std::vector<uint32_t> strong_components(const std::vector<std::vector<uint32_t>>& next);

}  // namespace intarsia
