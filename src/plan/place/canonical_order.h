// Order of atoms that does not depend on how they are numbered.
#pragma once

#include "plan/place/placement_costs.h"

namespace intarsia {

/// Returns the atoms in a topological order that follows from times, values and dependencies alone. The
/// numbering decides between atoms that cannot be told apart by everything that leads to them and that they
/// lead to. Takes linear time, but for a priority queue.
std::vector<uint32_t> canonical_order(const PlacementCosts& costs);

/// Returns the problem with atom `order[i]` as its i-th.
PlacementCosts renumber_atoms(const PlacementCosts& costs, const std::vector<uint32_t>& order);

}  // namespace intarsia
