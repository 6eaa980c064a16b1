// Rules for comparing times that were not measured together: docs/decisions/0019-times-that-compare.md.
#pragma once

#include <functional>

#include "target/cost_table.h"

namespace intarsia {

/// Function that returns the probe (measure/probe.h) of this compile, in nanoseconds; the same number each
/// time.
using Probe = std::function<int64_t()>;

/// Relative difference of two probes up to which the machine counts as equally fast.
inline constexpr double probe_tolerance = 0.05;

/// Finds the rivals that must be measured, or measured again, to make all times comparable: none if all are
/// known and their probes agree with each other, however fast the machine is today; else those that are
/// unknown, and those whose probe disagrees with that of today or of the rows that stay. A rival that never
/// runs agrees with all. `probe` is called only if a rival must be measured.
std::vector<CostKey> find_incomparable(std::span<const CostKey> rivals, const std::map<CostKey, Cost>& known,
                                       const Probe& probe);

/// Checks whether all rivals are known and from one measurement.
bool were_timed_together(std::span<const CostKey> rivals, const std::map<CostKey, Cost>& known);

}  // namespace intarsia
