// Decides where atoms run so that a run costs least.
#pragma once

#include "plan/placement_costs.h"

namespace intarsia {

struct CheapestPlacement {
  std::vector<uint32_t> target;  // by atom
  PlacementCost cost;            // cost_of it; its total is `never` when no placement was found that can run
};

/// How much is tried.
struct PlacementEffort {
  size_t atoms_cut = 400'000;            // by all minimum cuts together, which are two at least
  size_t atoms_partitioned = 4'000'000;  // and values, by local search
  bool search = true;                    // all placements of small problems
};

/// The cheapest placement that was found, which costs at most as much as everything on one target. It is
/// optimal for chains (place_chain), for problems with up to a million placements (search_placements), and
/// for two targets whose launches cost nothing (one minimum cut). Otherwise: cuts, in which entering another
/// target costs a launch, or a part of it, from several starts, then local search. The cost does not depend
/// on how atoms are numbered (see canonical_order); equal problems have equal placements; of equal placements
/// the first targets are preferred. Big problems have fewer starts: time is near-linear in atoms and values.
CheapestPlacement place_by_cost(const PlacementCosts& costs, const PlacementEffort& effort = {});

}  // namespace intarsia
