#include "plan/choose/size_ranges.h"

#include <algorithm>
#include <cmath>

#include "target/timing.h"

namespace intarsia {
namespace {

size_t find_fastest(const std::vector<int64_t>& times, double gain) {
  const auto least = std::ranges::min_element(times);
  const bool pays =
      static_cast<double>(*least) <= (1 - gain) * static_cast<double>(times[0]) && *least != never;
  return pays ? static_cast<size_t>(least - times.begin()) : 0;
}

/// Returns the smallest number above that of `low` from which plan `after` is faster than plan `before`.
int64_t find_crossing(const TimesAtSize& low, const TimesAtSize& high, size_t before, size_t after) {
  const auto at = [](const TimesAtSize& point, size_t plan) {
    return static_cast<double>(point.nanoseconds[plan]);
  };
  const double slower_by = at(low, after) - at(low, before), faster_by = at(high, before) - at(high, after);
  if (slower_by <= 0) return low.size + 1;
  const double share = slower_by / (slower_by + std::max(faster_by, 0.0));
  const auto steps = static_cast<int64_t>(std::ceil(share * static_cast<double>(high.size - low.size)));
  return std::clamp(low.size + steps, low.size + 1, high.size);
}

}  // namespace

std::vector<PlanRange> find_plan_ranges(const SizeRange& range, const std::vector<TimesAtSize>& points,
                                        double gain) {
  std::vector<PlanRange> found;
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t fastest = find_fastest(points[i].nanoseconds, gain);
    if (i > 0 && fastest == found.back().plan) {
      found.back().at = i;
      continue;
    }
    const int64_t begin =
        i == 0 ? range.min : find_crossing(points[i - 1], points[i], found.back().plan, fastest);
    if (i > 0) found.back().max = begin - 1;
    found.push_back({fastest, begin, range.max, i});
  }
  std::erase_if(found, [](const PlanRange& one) { return one.plan == 0; });
  return found;
}

}  // namespace intarsia
