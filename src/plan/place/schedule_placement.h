// Placement of atoms so that a run ends soonest, with executors that work side by side.
#pragma once

#include "plan/place/placement_costs.h"

namespace intarsia {

struct ScheduledPlacement {
  std::vector<uint32_t> target;  // indexed by atom
  int64_t length = never;        // its schedule_length; `never` if no placement was found that can run
  std::vector<uint32_t> rank;    // place of each atom in the order of scheduling
};

/// Executors and links that work side by side.
struct Executors {
  std::vector<uint32_t> of_target;      // executor of each target
  std::vector<uint32_t> link_of_space;  // link for copies to and from it; host_memory if there are none
};

/// Returns the nanoseconds until the last output is in the host's memory. Each executor does one thing at a
/// time, and each link makes one copy at a time beside that; a copy between two devices is on the receiver's
/// link. Turns are by `rank` (of atoms, an order of dependencies) or, where that is empty, atoms that more
/// depends on come first. A region is launched where an atom reads what its target did not make, or its
/// executor changes targets. `never` if it cannot run.
///   x -> a@cpu, x -> b@gpu, both -> c@cpu:  the longer of a and (copy, b, copy), then c
int64_t schedule_length(const PlacementCosts& costs, const Executors& executors,
                        const std::vector<uint32_t>& target_of, const std::vector<uint32_t>& rank = {});

/// Finds a short schedule. It starts from each atom where it ends soonest, those that most time depends on
/// first (HEFT: Topcuoglu, Hariri, Wu, "Performance-effective and low-complexity task scheduling for
/// heterogeneous computing", 2002, without insertion), and from everything on one target. From each of these,
/// atoms move, alone or all that are connected on a target, and have their turns in the order in which they
/// started, while the schedule becomes shorter; then the same from where some atoms of the shortest went
/// elsewhere at random (iterated local search: Lourenco, Martin, Stuetzle, 2003). Less is tried for big
/// problems. The same problem has the same result.
ScheduledPlacement schedule_placement(const PlacementCosts& costs, const Executors& executors);

}  // namespace intarsia
