// Decides where atoms run so that a run ends soonest, with executors at work side by side.
#pragma once

#include "plan/placement_costs.h"

namespace intarsia {

struct ScheduledPlacement {
  std::vector<uint32_t> target;  // by atom
  int64_t length = never;        // schedule_length of it; `never`: no placement was found that can run
};

/// Nanoseconds until the last output is in the host's memory. Each executor does one thing at a time, atoms
/// that more depends on first; copies are beside all that. A region is launched where an atom reads what its
/// target did not make, or its executor changes targets. `executor_of[target]`; `never`: it cannot run.
///   x -> a@cpu, x -> b@gpu, both -> c@cpu:  the longer of a and (copy, b, copy), then c
int64_t schedule_length(const PlacementCosts& costs, const std::vector<uint32_t>& executor_of,
                        const std::vector<uint32_t>& target_of);

/// Each atom where it ends soonest, those that most time depends on first (HEFT: Topcuoglu, Hariri, Wu,
/// "Performance-effective and low-complexity task scheduling for heterogeneous computing", 2002, without
/// insertion); and everything on one target. From each of these, atoms move, alone or all
/// that are connected on a target, as long as the schedule becomes shorter, but in big problems; the shortest
/// counts.
ScheduledPlacement schedule_placement(const PlacementCosts& costs, const std::vector<uint32_t>& executor_of);

}  // namespace intarsia
