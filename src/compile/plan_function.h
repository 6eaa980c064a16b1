// Planning of one function: the state of its passes, and what they do.
#pragma once

#include "compile/functions.h"
#include "compile/planning_tools.h"
#include "plan/choose/plan_file.h"

namespace intarsia {

/// State of the passes that plan a function.
struct FunctionPlanning {
  const CompileRequest& request;
  PlannedFunction function;
  std::optional<SavedPlan> given = {};  // what the user's plan file has for the function
  PlanningTools* tools = nullptr;       // set before plans are compared
  Plan placed = {};                     // plan as placed, once another may have been chosen

  const PlanningProblem& problem() const { return *function.problem; }
  const Graph& graph() const { return problem().graph; }
};

/// Reads the plan file, if there is one. Errors: it lacks the function, or pins are given, too.
Result<FunctionPlanning> start_planning(const CompileRequest& request, const ImportedFunction& imported);

/// Gives every node a target: the plan file's, else by pins, the model's annotations and preference.
Status place_as_asked(FunctionPlanning& planning);
/// Chooses the plan that ships among those that are possible.
Status choose_function_plan(FunctionPlanning& planning);
/// Divides the plan into stages if the request or the plan file asks for them.
Status choose_function_stages(FunctionPlanning& planning);

/// Notes what the cost table knows of the plan as placed, and of the plans that it competes with.
Status recall_plan_costs(FunctionPlanning& planning);
/// Notes the times of the plan's regions that the cost table knows.
void recall_region_costs(FunctionPlanning& planning);

/// Checks the regions and steps of a plan.
Status verify_plan(const PlanningProblem& problem, const Plan& plan);
/// Checks those of the chosen plan.
Status verify_chosen_plan(const FunctionPlanning& planning);

}  // namespace intarsia
