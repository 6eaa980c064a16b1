// Times of segments, from an explanation.
#include <algorithm>

#include "report/explanation.h"

namespace intarsia {

std::optional<int64_t> segment_time(const Explanation& explanation, size_t segment) {
  const ExplainedSegment& part = explanation.segments[segment];
  const size_t region = explanation.nodes[part.nodes[0]].region;
  const bool is_whole =
      std::ranges::all_of(part.nodes, [&](size_t node) { return explanation.nodes[node].region == region; });
  const auto target = std::ranges::find(explanation.targets, explanation.regions[region].target);
  if (!is_whole || target == explanation.targets.end()) return std::nullopt;
  return part.times[static_cast<size_t>(target - explanation.targets.begin())];
}

}  // namespace intarsia
