// Cheapest way to split vertices into two sides.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace intarsia {

/// Solver for the cheapest split. Costs are not negative; `never` forbids. Exact while costs that do not
/// forbid sum up to less than 2^62 divided by the number of vertices plus one.
class MinimumCut {
 public:
  uint32_t add_vertex();

  /// Adds costs that are paid for the side that the vertex is on.
  void add_cost(uint32_t vertex, int64_t on_first, int64_t on_second);

  /// Adds a cost that is paid when `a` is on the first side and `b` on the second.
  void add_cost_between(uint32_t a, uint32_t b, int64_t cost);

  /// Returns, for each vertex, whether it is on the first side. Among equal splits it takes the one with the
  /// fewest vertices there.
  std::vector<bool> solve() const;

 private:
  struct Edge {
    uint32_t from, to;
    int64_t cost;
  };
  std::vector<std::pair<int64_t, int64_t>> vertices_;  // costs on the first and on the second side
  std::vector<Edge> edges_;
};

}  // namespace intarsia
