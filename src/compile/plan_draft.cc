#include "compile/plan_draft.h"

#include "plan/partition/boundary_layouts.h"
#include "plan/partition/describe_plan.h"
#include "plan/partition/elide_copies.h"
#include "plan/partition/group_opaque_values.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "plan/partition/separate_open_sizes.h"
#include "plan/partition/split_branches.h"
#include "plan/stages/cut_graph.h"

namespace intarsia {

Status group_values(PlanDraft& draft) {
  TRY(group_opaque_values(draft.graph(), draft.problem.targets, draft.plan.placement));
  return verify_stage_order(draft.graph(), draft.plan.placement);
}

Status form_regions(PlanDraft& draft) {
  separate_open_sizes(draft.problem, draft.plan.placement);
  draft.plan.partition = partition_graph(draft.graph(), draft.plan.placement);
  return {};
}

Status part_branches(PlanDraft& draft) {
  split_branches(draft.problem, draft.plan.placement, draft.plan.partition);
  return {};
}

Status choose_layouts(PlanDraft& draft) {
  return choose_boundary_layouts(draft.problem, draft.plan.partition);
}

Status list_steps(PlanDraft& draft) {
  draft.plan.steps = insert_copies(draft.graph(), draft.plan.partition, draft.problem.space_of_target);
  return {};
}

Status drop_copies(PlanDraft& draft) {
  draft.plan.steps = elide_copies(draft.plan.steps);
  return {};
}

Status verify_regions(const PlanDraft& draft) {
  return verify_partition(draft.graph(), draft.plan.placement, draft.plan.partition);
}

Status verify_layouts(const PlanDraft& draft) {
  return verify_boundary_layouts(draft.problem, draft.plan.partition);
}

Status verify_step_list(const PlanDraft& draft) {
  return verify_steps(draft.graph(), draft.plan.partition, draft.problem.space_of_target, draft.plan.steps);
}

std::string print_groups(const PlanDraft& draft) {
  return describe_placement(draft.problem, draft.plan.placement);
}

std::string print_regions(const PlanDraft& draft) {
  return describe_partition(draft.problem, draft.plan.partition);
}

std::string print_steps(const PlanDraft& draft) {
  return describe_steps(draft.problem, draft.plan.partition, draft.plan.steps);
}

}  // namespace intarsia
