// Plans that could be faster than the one that placing made.
#pragma once

#include <functional>
#include <set>

#include "plan/plan.h"

namespace intarsia {

/// A region of one of our backends next to regions of a framework that could also run it on the same device.
struct Island {
  uint32_t region = 0;
  uint32_t framework = 0;  // target
};

/// The names of what runs regions: backends, or, if there are several slots, targets.
std::set<std::string> runners_of(const PlanningProblem& problem, const Partition& partition);
/// The same of one target.
std::string runner_name(const PlanningProblem& problem, uint32_t target);

/// Regions that exchange values with a framework's region, hold no pinned node and do not run a kernel that
/// the user brought; with several frameworks, the one that a region exchanges most with. A framework that
/// refuses one of the nodes does not count.
std::vector<Island> find_islands(const PlanningProblem& problem, const Plan& plan);

/// The same regions and steps, with the islands run by their frameworks, each as a region alone: made to time
/// them.
Plan hand_over_islands(const Plan& plan, const std::vector<Island>& islands);

/// Neither a pin nor a kernel of the user's holds the node where it is.
bool may_move(const PlanningProblem& problem, const Placement& placement, NodeId node);

/// The node is on the target, or may move and is taken there, where not only pins hold nodes.
bool may_go(const PlanningProblem& problem, const Placement& placement, NodeId node, uint32_t target);

/// Everything on `target` but what is pinned elsewhere or is a kernel of the user's; nothing when it refuses
/// a node, or has all of them already.
std::optional<Placement> place_all_on(const PlanningProblem& problem, const Placement& placement,
                                      uint32_t target);

/// What is on a target that `may_use` refuses goes to the first other that takes it; `why` becomes its
/// reason. Nothing when all may stay, or no other takes some node.
std::optional<Placement> place_within(const PlanningProblem& problem, const Placement& placement,
                                      const std::function<bool(uint32_t target)>& may_use,
                                      const std::string& why);

/// A pin, or a kernel of the user's, holds some node in a framework.
bool is_held_in_framework(const PlanningProblem& problem, const Placement& placement);

/// Targets that could be the fastest for everything: those that run regions, and of each other backend the
/// first in each memory for each number of cores; none that takes only what is pinned to it.
std::set<uint32_t> rivals_of(const PlanningProblem& problem, const Partition& partition);

}  // namespace intarsia
