// Placement of atoms so that a run costs least.
#pragma once

#include "plan/place/placement_costs.h"

namespace intarsia {

struct CheapestPlacement {
  std::vector<uint32_t> target;  // indexed by atom
  PlacementCost cost;            // cost_of it; its total is `never` if no placement was found that can run
};

/// Limits of the search.
struct PlacementEffort {
  size_t atoms_cut = 400'000;            // atoms in all minimum cuts together, at least two of which are made
  size_t atoms_partitioned = 4'000'000;  // atoms and values that local search partitions
  bool search = true;                    // whether to search all placements of small problems
};

/// Finds a cheap placement, which costs at most as much as everything on one target. It is optimal for chains
/// (place_chain), for problems with up to a million placements (search_placements), and for two targets whose
/// launches cost nothing (one minimum cut). Otherwise it comes from cuts, in which entering another target
/// costs a launch, or a part of one, from several starts, then from local search. The cost does not depend on
/// how atoms are numbered (see canonical_order); equal problems have equal placements; among equal placements
/// the first targets are preferred. Big problems have fewer starts: time is near-linear in atoms and values.
CheapestPlacement place_by_cost(const PlacementCosts& costs, const PlacementEffort& effort = {});

}  // namespace intarsia
