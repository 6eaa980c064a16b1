// Problem of placing a graph's nodes by cost.
#pragma once

#include "plan/place/placement_costs.h"

namespace intarsia {

/// Measured times of nodes and links.
struct MeasuredCosts {
  std::vector<std::vector<int64_t>> times;  // [node][target] in nanoseconds; `never` if refused or pinned
  std::vector<CostedTarget> targets;
  std::vector<std::vector<Link>> links;  // [from][to] by space
  int64_t unknown_size = 1;  // size of a dimension that is not a number; elements of a value of unknown rank
};

struct GraphCosts {
  PlacementCosts costs;
  std::vector<uint32_t> atom_of;  // indexed by node
};

/// Builds the problem. Nodes of one group (as Placement::group; empty if each is alone) are an atom, whose
/// time is the sum of theirs. Constants are not copied, so they are not among the values; nor are values that
/// are read only inside their atom. Values in a framework's own form count as no bytes: their size is not
/// known.
GraphCosts cost_graph(const Graph& graph, const std::vector<uint32_t>& group, const MeasuredCosts& measured);

}  // namespace intarsia
