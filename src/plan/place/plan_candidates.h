// Plans that could be faster than the one that placing made.
#pragma once

#include <functional>
#include <set>

#include "plan/plan.h"

namespace intarsia {

/// Native region next to regions of a framework that could also run it on the same device.
struct NativeRegion {
  uint32_t region = 0;
  uint32_t framework = 0;  // target of the framework
};

/// Returns the names of what runs the regions: backends or, if there are several slots, targets.
std::set<std::string> runners_of(const PlanningProblem& problem, const Partition& partition);
/// Returns the name of what runs regions on the target: its backend or, if there are several slots, itself.
std::string runner_name(const PlanningProblem& problem, uint32_t target);

/// Finds native regions that exchange values with a framework's region, have no pinned node and do not run a
/// kernel that the user brought; with several frameworks, the one that a region exchanges most with counts.
/// Regions with a node that this framework refuses are left out.
std::vector<NativeRegion> find_native_regions(const PlanningProblem& problem, const Plan& plan);

/// Returns the same regions and steps, but with the native regions run by their frameworks, each as a region
/// alone, in order to time them.
Plan hand_over_native_regions(const Plan& plan, const std::vector<NativeRegion>& native_regions);

/// Checks whether neither a pin nor a kernel of the user's keeps the node where it is.
bool may_move(const PlanningProblem& problem, const Placement& placement, NodeId node);

/// Checks whether the node is on the target, or may move and is taken there; targets that take pinned nodes
/// only take none.
bool may_go(const PlanningProblem& problem, const Placement& placement, NodeId node, uint32_t target);

/// Places everything on `target` but nodes that are pinned elsewhere or run a kernel of the user's; nullopt
/// if it refuses a node, or has all of them already.
std::optional<Placement> place_all_on(const PlanningProblem& problem, const Placement& placement,
                                      uint32_t target);

/// Moves nodes from targets that `may_use` refuses to the first other that takes them; `why` becomes their
/// reason. Returns nullopt if all may stay, or no other takes some node.
std::optional<Placement> place_within(const PlanningProblem& problem, const Placement& placement,
                                      const std::function<bool(uint32_t target)>& may_use,
                                      const std::string& why);

/// Checks whether a pin, or a kernel of the user's, keeps some node in a framework.
bool is_held_in_framework(const PlanningProblem& problem, const Placement& placement);

/// Finds targets that could be the fastest for everything: those that run regions, and of each other backend
/// the first in each memory for each number of cores; none that is unoptimized, runs the user's kernels, or
/// takes pinned nodes only.
std::set<uint32_t> rivals_of(const PlanningProblem& problem, const Partition& partition);

}  // namespace intarsia
