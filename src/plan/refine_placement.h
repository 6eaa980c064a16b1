// Improves a placement by moving atoms and whole regions.
#pragma once

#include "plan/placement_state.h"

namespace intarsia {

/// What all placements of one problem are refined with.
struct RefinementTools {
  const PlacementCosts& costs;
  const AtomValues values_of = find_atom_values(costs);
  const Neighbors next = find_reading_atoms(costs);
  const Neighbors previous = reverse_edges(next);
};

/// Moves regions, connected parts of them, and atoms at their borders to another target, each only if the
/// total of cost_of falls, until no such move is left or `trials` placements were partitioned. Moves that do
/// not touch are first tried together, so that a big problem needs few trials.
///   a@x b@y c@x, launches dear  =>  a b c, all @x
std::vector<uint32_t> refine_placement(const RefinementTools& tools, std::vector<uint32_t> target_of,
                                       size_t trials);

}  // namespace intarsia
