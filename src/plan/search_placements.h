// All placements of a small problem.
#pragma once

#include "plan/region_moves.h"

namespace intarsia {

/// A cheaper placement than `placed` by cost_of if there is one, the cheapest; else `placed`. Atoms are in
/// topological order. Problems with more than a million placements are left as they are; so is what a search
/// does not reach that partitions too many of them, which only launches that outweigh all else can cause.
std::vector<uint32_t> search_placements(const RefinementTools& tools, std::vector<uint32_t> placed);

}  // namespace intarsia
