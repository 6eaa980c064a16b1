// Text of a chosen plan, for --print-after.
#pragma once

#include <string>

#include "plan/choose/choose_plan.h"

namespace intarsia {

/// Returns the regions and steps of the plan that ships, then a line per plan that it was compared with:
/// "all in halide: 120000 ns".
std::string describe_choice(const PlanningProblem& problem, const ChosenPlan& chosen);

}  // namespace intarsia
