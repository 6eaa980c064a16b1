// Calls of users' kernels, for programs in plain C.
#pragma once

#include "backends/reference/region_plan.h"
#include "graph/graph.h"
#include "target/region_calls.h"

namespace intarsia::kernels {

/// Lists the calls of a planned region, with the headers that they need.
RegionCalls list_user_calls(const Graph& region, const reference::RegionPlan& plan);

}  // namespace intarsia::kernels
