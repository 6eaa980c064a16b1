// A plan while it is made from a placement: the state of the passes, and what they do.
#pragma once

#include "plan/plan.h"

namespace intarsia {

/// State of the passes that turn a placement into a plan.
struct PlanDraft {
  const PlanningProblem& problem;
  Plan plan;

  const Graph& graph() const { return problem.graph; }
};

/// Error: the user's stages tear a group.
Status group_values(PlanDraft& draft);
Status form_regions(PlanDraft& draft);
Status part_branches(PlanDraft& draft);
Status choose_layouts(PlanDraft& draft);
Status list_steps(PlanDraft& draft);
Status drop_copies(PlanDraft& draft);

/// Checks that regions are convex, and each reads only from earlier ones.
Status verify_regions(const PlanDraft& draft);
/// Checks that only regions which agree exchange values with another axis order.
Status verify_layouts(const PlanDraft& draft);
/// Checks that every value is where it is read.
Status verify_step_list(const PlanDraft& draft);

std::string print_groups(const PlanDraft& draft);
std::string print_regions(const PlanDraft& draft);
std::string print_steps(const PlanDraft& draft);

}  // namespace intarsia
