// Ranges of a size in which one of several plans is the fastest.
#pragma once

#include <cstdint>
#include <vector>

#include "base/requested_shape.h"

namespace intarsia {

/// Times of plans at one number of a size.
struct TimesAtSize {
  int64_t size = 0;
  std::vector<int64_t> nanoseconds;  // by plan; `never` for one that does not run there
};

/// Range of a size in which a plan other than the first is faster.
struct PlanRange {
  size_t plan = 0;
  int64_t min = 0, max = 0;
  size_t at = 0;  // number of the last measured point in it
  bool operator==(const PlanRange&) const = default;
};

/// Returns the ranges in which another plan saves at least the share `gain` of the first plan's time, in
/// ascending order. `points` are ascending and not empty. Between two points each plan's time is taken to lie
/// on a straight line, and a plan's range ends where another plan's line crosses its own; beyond the first
/// and the last point the same plan stays the fastest.
///   1: 10, 12   32: 320, 160 ms, gain 0.1   ->   plan 1 from 2 to the end of `range`
std::vector<PlanRange> find_plan_ranges(const SizeRange& range, const std::vector<TimesAtSize>& points,
                                        double gain);

}  // namespace intarsia
