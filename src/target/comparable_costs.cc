#include "target/comparable_costs.h"

#include <algorithm>

namespace intarsia {
namespace {

/// Set of probes that all agree with each other.
class AgreeingProbes {
 public:
  /// Adds a probe; returns false, and leaves it out, if it disagrees with an earlier one.
  bool take(int64_t probe) {
    const int64_t least = std::min(least_, probe), most = std::max(most_, probe);
    if (static_cast<double>(most) > (1 + probe_tolerance) * static_cast<double>(least)) return false;
    least_ = least, most_ = most;
    return true;
  }

 private:
  int64_t least_ = never, most_ = 0;
};

/// Finds the rivals that are unknown, or whose probe disagrees with `probes` or those of rivals before it.
std::vector<CostKey> find_others(std::span<const CostKey> rivals, const std::map<CostKey, Cost>& known,
                                 AgreeingProbes probes) {
  std::vector<CostKey> others;
  for (const CostKey& rival : rivals) {
    const auto row = known.find(rival);
    const bool compares = row != known.end() && (row->second.timing.nanoseconds == never ||
                                                 probes.take(row->second.probe_nanoseconds));
    if (!compares) others.push_back(rival);
  }
  return others;
}

}  // namespace

std::vector<CostKey> find_incomparable(std::span<const CostKey> rivals, const std::map<CostKey, Cost>& known,
                                       const Probe& probe) {
  AgreeingProbes probes;
  if (find_others(rivals, known, probes).empty()) return {};
  probes.take(probe());
  return find_others(rivals, known, probes);
}

bool were_timed_together(std::span<const CostKey> rivals, const std::map<CostKey, Cost>& known) {
  const auto row_of = [&](const CostKey& rival) {
    const auto row = known.find(rival);
    return row == known.end() ? std::nullopt : std::optional(row->second);
  };
  return std::ranges::all_of(rivals, [&](const CostKey& rival) {
    const std::optional<Cost> first = row_of(rivals[0]), row = row_of(rival);
    return first && row && row->at == first->at && row->probe_nanoseconds == first->probe_nanoseconds;
  });
}

}  // namespace intarsia
