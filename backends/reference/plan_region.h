// Planning of a region as a list of kernel calls with a place for every value.
#pragma once

#include <vector>

#include "backends/reference/region_plan.h"
#include "graph/graph.h"

namespace intarsia::reference {

struct PlannedRegion {
  RegionPlan plan;
  std::vector<Tensor> constants;
};

/// Plans calls in the order of the nodes; intermediate values of known size share a workspace by their
/// lifetimes.
Result<PlannedRegion> plan_region(const Graph& region);

}  // namespace intarsia::reference
