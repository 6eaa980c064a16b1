// What running the same work several times took.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace intarsia {

/// Nanoseconds of what does not run, or whose code is too expensive to generate.
inline constexpr int64_t never = std::numeric_limits<int64_t>::max();

struct Timing {
  int64_t nanoseconds = never;  // the least of all rounds, at least 1
  double spread = 0;  // (median - least) / least of the rounds; near 0 on a quiet machine, 0 of one round
  bool is_disturbed = false;  // other processes took cores meanwhile: it says little of a quiet machine
  bool operator==(const Timing&) const = default;
};

/// Of one entry per round, in nanoseconds; without any, `never`.
Timing summarize_rounds(std::vector<int64_t> rounds);

}  // namespace intarsia
