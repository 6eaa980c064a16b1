// Times of stretches and of regions, from an explanation.
#include <algorithm>

#include "compile/explanation.h"

namespace intarsia {

std::optional<int64_t> stretch_time(const Explanation& explanation, size_t stretch) {
  const ExplainedStretch& part = explanation.stretches[stretch];
  const size_t region = explanation.nodes[part.nodes[0]].region;
  const bool is_whole =
      std::ranges::all_of(part.nodes, [&](size_t node) { return explanation.nodes[node].region == region; });
  const auto target = std::ranges::find(explanation.targets, explanation.regions[region].target);
  if (!is_whole || target == explanation.targets.end()) return std::nullopt;
  return part.times[static_cast<size_t>(target - explanation.targets.begin())];
}

std::optional<int64_t> region_time(const Explanation& explanation, size_t region) {
  int64_t sum = 0;
  std::optional<size_t> last;
  for (size_t node : explanation.regions[region].nodes) {
    const std::optional<size_t> stretch = explanation.nodes[node].stretch;
    if (!stretch) return std::nullopt;
    if (stretch == last) continue;
    last = stretch;
    const std::optional<int64_t> time = stretch_time(explanation, *stretch);
    if (!time) return std::nullopt;
    sum += *time;
  }
  return sum;
}

}  // namespace intarsia
