// When times that were not measured together may be compared: docs/decisions/0019-times-that-compare.md.
#pragma once

#include <functional>

#include "target/cost_table.h"

namespace intarsia {

/// Measures the probe (measure/probe.h) of this compile, in nanoseconds; the same number each time.
using Probe = std::function<int64_t()>;

/// Of two probes, how much longer one may take where the machine counts as equally fast.
inline constexpr double probe_tolerance = 0.05;

/// Which of some rivals must be measured, now or again, so that the times of all compare: none if all are
/// known and their probes agree with each other, however fast the machine is today; else those that are not
/// known, and those whose probe does not agree with the one of today and of the rows that stay. What never
/// runs agrees with all. `probe` is called only if a rival must be measured.
std::vector<CostKey> find_incomparable(std::span<const CostKey> rivals, const std::map<CostKey, Cost>& known,
                                       const Probe& probe);

/// Are all of them known and from one measurement?
bool were_timed_together(std::span<const CostKey> rivals, const std::map<CostKey, Cost>& known);

}  // namespace intarsia
