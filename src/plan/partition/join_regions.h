// Regions as large as convexity allows.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/partition.h"

namespace intarsia {

/// Joins regions of one target between which no path leads through another region, until no two of them can
/// be joined. `reads[r]` are the other regions that r reads from. Regions read from earlier ones only, both
/// before the call and after it.
///   {A} {B} {C} on targets 0 1 0, A -> B and no more:  {A C} {B}
void join_regions(std::vector<Region>& regions, const std::vector<std::vector<uint32_t>>& reads);

}  // namespace intarsia
