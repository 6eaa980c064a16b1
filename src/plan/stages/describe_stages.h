// Text of the stages of a plan, for --print-after.
#pragma once

#include <string>

#include "plan/choose/choose_plan.h"

namespace intarsia {

/// Returns a line per stage, "stage 0 on cpu (cpu:0): regions 0 1, 2 frames"; "not divided" without stages.
std::string describe_stages(const PlanningProblem& problem, const ChosenPlan& chosen);

}  // namespace intarsia
