// Cheapest placement of a chain.
#pragma once

#include <optional>

#include "plan/place/placement_costs.h"

namespace intarsia {

/// Finds a placement by a shortest path over atoms and targets, so nothing is cheaper by cost_of. Returns
/// nullopt where atom i reads from others than i - 1, or not from it; where several atoms read one input of
/// the graph; or where no placement can run. Atoms are in topological order.
///   x -> a -> b -> c
std::optional<std::vector<uint32_t>> place_chain(const PlacementCosts& costs);

}  // namespace intarsia
