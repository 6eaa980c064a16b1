#include "target/timing.h"

#include <algorithm>

namespace intarsia {

Timing summarize_rounds(std::vector<int64_t> rounds) {
  if (rounds.empty()) return {};
  for (int64_t& nanoseconds : rounds) nanoseconds = std::max(nanoseconds, int64_t{1});
  const auto middle = rounds.begin() + std::ssize(rounds) / 2;
  std::ranges::nth_element(rounds, middle);
  const int64_t median = *middle, least = *std::min_element(rounds.begin(), middle + 1);
  return {least, static_cast<double>(median - least) / static_cast<double>(least)};
}

}  // namespace intarsia
