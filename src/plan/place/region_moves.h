// Moves of a placement that could make it cheaper.
#pragma once

#include "plan/partition.h"
#include "plan/place/placement_state.h"

namespace intarsia {

/// Tools that refine all placements of one problem.
struct RefinementTools {
  const PlacementCosts& costs;
  const AtomValues values_of = find_atom_values(costs);
  const Neighbors next = find_reading_atoms(costs);
  const Neighbors previous = reverse_edges(next);
};

/// Atoms of one region that go to another target.
struct RegionMove {
  uint32_t region = 0;
  std::vector<uint32_t> atoms;
  uint32_t target = 0;
  std::vector<uint32_t> adjacent;  // regions of that target that exchange values with the atoms
  int64_t gain = 0;                // nanoseconds saved if the atoms join all of `adjacent`
  int64_t most = 0;                // nanoseconds saved if all regions around them became one
};

/// Finds moves of every region, of its connected parts and of its atoms that no `never` forbids; the most
/// promising come first. `regions` are those of the state, which is unchanged afterwards.
std::vector<RegionMove> find_region_moves(const RefinementTools& tools, const std::vector<Region>& regions,
                                          PlacementState& state);

}  // namespace intarsia
