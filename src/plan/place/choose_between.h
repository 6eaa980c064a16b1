// Best among all placements in which every atom has one of two targets.
#pragma once

#include "plan/place/placement_costs.h"

namespace intarsia {

/// Places each atom on its entry in `first` or in `second`; among equal placements, returns the one with the
/// fewest atoms on their first. Minimizes the times of atoms and copies, and `crossing[t]` for every value
/// and target t that reads but does not make it, which stands for launches. Solves one minimum cut. Exact
/// when `first` and `second` are one target each (and there are no others), or swap two targets and leave the
/// others; also when `first` is one target and links are equally fast. Otherwise it minimizes an upper bound
/// that is exact for `second`, so the result is not worse than `second`.
std::vector<uint32_t> choose_between(const PlacementCosts& costs, const std::vector<uint32_t>& first,
                                     const std::vector<uint32_t>& second,
                                     const std::vector<int64_t>& crossing);

}  // namespace intarsia
