// An order of atoms that does not depend on how they are numbered.
#pragma once

#include "plan/placement_costs.h"

namespace intarsia {

/// Atoms in a topological order that follows from times, values and dependencies alone. Where several atoms
/// cannot be told apart by all that leads to them and all that they lead to, the numbering decides. Linear
/// but for a queue.
std::vector<uint32_t> canonical_order(const PlacementCosts& costs);

/// The same problem with atom `order[i]` as its i-th.
PlacementCosts renumber_atoms(const PlacementCosts& costs, const std::vector<uint32_t>& order);

}  // namespace intarsia
