// Timing of work that is run several times.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace intarsia {

/// Time, in nanoseconds, of work that does not run or whose code is too expensive to generate.
inline constexpr int64_t never = std::numeric_limits<int64_t>::max();

struct Timing {
  int64_t nanoseconds = never;  // minimum of all rounds, at least 1
  double spread = 0;            // (median - minimum) / minimum; near 0 on a quiet machine, 0 for one round
  bool is_disturbed = false;    // other processes took cores meanwhile, so a quiet machine may be faster
  bool operator==(const Timing&) const = default;
};

/// Summarizes rounds, given in nanoseconds; `never` if there are none.
Timing summarize_rounds(std::vector<int64_t> rounds);

}  // namespace intarsia
