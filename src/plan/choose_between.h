// The best among all placements in which every atom has one of two targets.
#pragma once

#include "plan/placement_costs.h"

namespace intarsia {

/// Each atom goes to its entry in `first` or in `second`; of equal placements that with the fewest on their
/// first. Minimizes atoms, copies, and `crossing[t]` for every value and target t that reads but does not
/// make it, which stands for launches. One minimum cut. Exact when `first` and `second` are one target each
/// (then they are all there is), or swap two targets and leave the others; also when `first` is one target
/// and links are equally fast. Otherwise an upper bound is minimized that is right for `second`, so the
/// result is not worse than that.
std::vector<uint32_t> choose_between(const PlacementCosts& costs, const std::vector<uint32_t>& first,
                                     const std::vector<uint32_t>& second,
                                     const std::vector<int64_t>& crossing);

}  // namespace intarsia
