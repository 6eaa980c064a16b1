// The cheapest way to split vertices into two sides.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace intarsia {

/// Costs are not negative; `never` forbids. Exact while what is not forbidden sums up to less than 2^62
/// divided by the number of vertices.
class MinimumCut {
 public:
  uint32_t add_vertex();

  /// Paid for the side that the vertex is on.
  void add_cost(uint32_t vertex, int64_t on_first, int64_t on_second);

  /// Paid when `a` is on the first side and `b` on the second.
  void add_cost_between(uint32_t a, uint32_t b, int64_t cost);

  /// By vertex: is it on the first side? Of equal splits the one with the fewest there.
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
