// What else a program carries, for where something is missing that its plan uses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace intarsia {

/// What runs where the plan that ships cannot, because a library or device is missing.
struct AlternativePlan {
  Plan plan;
  std::optional<int64_t> measured;  // nanoseconds of a run
};

struct WantedAlternatives {
  std::vector<std::string> also;  // slots that must be enough to run
  bool only_also = false;         // none without frameworks
};

/// In order of preference: without frameworks; on the slots of `also` alone; and both. Each as far as it
/// is wanted, differs and can be. A pin to a framework says that it will be there; a user who names slots
/// wants a plan for them, whatever is pinned elsewhere. `known`: times by identity (identify_plan); `never`
/// of plans that cannot ship.
std::vector<AlternativePlan> find_alternatives(const PlanningProblem& problem, const Plan& shipped,
                                               const WantedAlternatives& wanted, const Replan& replan,
                                               const std::map<std::string, int64_t>& known);

}  // namespace intarsia
