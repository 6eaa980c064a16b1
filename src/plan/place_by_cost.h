// Decides where atoms run so that a run costs least.
#pragma once

#include "plan/placement_costs.h"

namespace intarsia {

struct CheapestPlacement {
  std::vector<uint32_t> target;  // by atom
  PlacementCost cost;            // cost_of it; its total is `never` when no placement was found that can run
};

/// The cheapest placement that was found: never dearer than everything on one target. With two targets whose
/// launches cost nothing there is no cheaper one; else cuts that count an entry into another target as a
/// launch are where local search starts. The cost does not depend on how atoms are numbered (but see
/// canonical_order), and equal problems have equal placements. Of equal placements the first targets are
/// preferred. Big problems have fewer starts: time is near-linear in atoms and values.
CheapestPlacement place_by_cost(const PlacementCosts& costs);

}  // namespace intarsia
