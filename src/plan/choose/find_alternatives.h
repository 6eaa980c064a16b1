// Plans that a program carries for machines that lack something its first plan uses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace intarsia {

/// Plan that runs where the one that ships cannot, because a library or device is missing.
struct AlternativePlan {
  Plan plan;
  std::optional<int64_t> measured;  // nanoseconds of a run
};

struct WantedAlternatives {
  std::vector<std::string> also;  // slots that must suffice to run
  bool only_also = false;         // whether none without frameworks is wanted
};

/// Returns plans in order of preference: without frameworks; on the slots of `also` alone; and both. Each is
/// there if it is wanted, differs and is possible. A pin to a framework says that it will be there; a user
/// who names slots wants a plan for them, whatever is pinned elsewhere. `known`: times by identity
/// (identify_plan), `never` for plans that cannot ship.
std::vector<AlternativePlan> find_alternatives(const PlanningProblem& problem, const Plan& shipped,
                                               const WantedAlternatives& wanted, const Replan& replan,
                                               const std::map<std::string, int64_t>& known);

}  // namespace intarsia
