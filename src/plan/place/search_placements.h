// Search of all placements of a small problem.
#pragma once

#include "plan/place/region_moves.h"

namespace intarsia {

/// Returns the cheapest placement by cost_of if it is cheaper than `placed`, else `placed`. Atoms are in
/// topological order. Problems with more than a million placements are left as they are. A search that
/// partitions too many of them ends early, which only launches that outweigh all else can cause.
std::vector<uint32_t> search_placements(const RefinementTools& tools, std::vector<uint32_t> placed);

}  // namespace intarsia
