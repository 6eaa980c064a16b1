#include "compile/plan_function.h"

#include "compile/annotated_pins.h"
#include "import/read_annotations.h"
#include "plan/costs/predict_plan.h"
#include "plan/partition/elide_copies.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "plan/place/place_nodes.h"
#include "plan/stages/choose_stages.h"
#include "plan/stages/stage_frames.h"

namespace intarsia {
namespace {

Result<Placement> place_by_pins(FunctionPlanning& planning) {
  const CompileRequest& request = planning.request;
  const PlanningProblem& problem = planning.problem();
  const AnnotatedPins in_model = TRY(pin_annotated(problem, TRY(read_annotations(request.model_path))));
  planning.function.notes.clear();
  for (const std::string& place : in_model.unknown)
    planning.function.notes.push_back(fmt::format(
        "the model's metadata names {}, which is no target or slot here and means nothing", place));
  return place_nodes(problem.graph, problem.targets, request.pins, in_model.pins, request.unsupported_remedy);
}

/// Divides the plan that ships into stages.
Status divide_plan(FunctionPlanning& planning) {
  const CompileRequest& request = planning.request;
  const PlanTools& tools = planning.tools->get();
  ChosenPlan& chosen = planning.function.chosen;
  StagedPlan staged =
      TRY(choose_stages(planning.problem(), chosen, {.cuts = request.cuts, .count = request.stages}, tools));
  chosen.plan = std::move(staged.plan);
  chosen.stages = std::move(staged.stages);
  chosen.alternatives = std::move(staged.alternatives);
  chosen.measured.reset();
  chosen.predicted.reset();
  if (tools.timer != nullptr) {
    if (const auto times = tools.timer->time_runs({&chosen.plan}); times && (*times)[0] != never)
      chosen.measured = (*times)[0];
  }
  planning.function.stage_report = std::move(staged.report);
  return {};
}

/// Takes the stages from the plan file.
Status take_given_stages(FunctionPlanning& planning) {
  const CompileRequest& request = planning.request;
  const PlanningProblem& problem = planning.problem();
  ChosenPlan& chosen = planning.function.chosen;
  chosen.stages =
      TRY(with_context(stages_of_plan(problem.slots, *planning.given), "plan '{}'", request.plan_path));
  if (request.objective == Objective::throughput && planning.given->stages.empty())
    return fail("--objective throughput: plan '{}' has no stages: save it by a compile with this objective",
                request.plan_path);
  const std::vector<StageMemory> memory(problem.spaces.size(),
                                        {.has_spare_frame = request.memory_limits.empty()});
  set_frames(problem, chosen.plan, memory, chosen.stages);
  return {};
}

/// Predicts the cost of a plan from a file, which is not measured.
void predict_given_plan(FunctionPlanning& planning) {
  ChosenPlan& chosen = planning.function.chosen;
  chosen.measured = planning.given->measured;
  CostTable* table = planning.tools->compiler().tuning().costs();
  if (table == nullptr) return;
  std::optional<PlanPrediction> prediction =
      predict_plan(planning.problem(), chosen.plan.placement, *table,
                   plan_conditions(planning.problem(), planning.request));
  if (!prediction) return;
  chosen.predicted = prediction->whole;
  chosen.costs = std::move(prediction->costs);
}

}  // namespace

Result<FunctionPlanning> start_planning(const CompileRequest& request, const ImportedFunction& imported) {
  FunctionPlanning planning{request, {imported}};
  if (request.plan_path.empty()) return planning;
  if (!request.pins.empty()) return fail("--plan and --pin both say where nodes run; give one of them");
  const auto plans = TRY(read_plan_file(request.plan_path));
  const auto plan = plans.find(imported.name);
  if (plan == plans.end())
    return fail("plan '{}': it has no function '{}'", request.plan_path, imported.name);
  planning.given = plan->second;
  return planning;
}

Status place_as_asked(FunctionPlanning& planning) {
  const PlanningProblem& problem = planning.problem();
  Placement& placement = planning.function.chosen.plan.placement;
  if (!planning.given) {
    placement = TRY(place_by_pins(planning));
    return {};
  }
  placement = TRY(with_context(place_by_plan(problem.graph, problem.targets, *planning.given), "plan '{}'",
                               planning.request.plan_path));
  return {};
}

Status choose_function_plan(FunctionPlanning& planning) {
  ChosenPlan& chosen = planning.function.chosen;
  planning.placed = chosen.plan;
  chosen = TRY(choose_plan(planning.problem(), std::move(chosen.plan), planning.tools->get()));
  if (planning.given) predict_given_plan(planning);
  return {};
}

Status choose_function_stages(FunctionPlanning& planning) {
  if (planning.given) return take_given_stages(planning);
  return planning.request.objective == Objective::throughput ? divide_plan(planning) : Status();
}

Status recall_plan_costs(FunctionPlanning& planning) {
  ChosenPlan& chosen = planning.function.chosen;
  ChosenPlan known = TRY(choose_plan(planning.problem(), chosen.plan, planning.tools->get()));
  chosen.report = std::move(known.report);
  chosen.costs = std::move(known.costs);
  if (chosen.report) chosen.measured = chosen.report->as_placed;
  return planning.given ? take_given_stages(planning) : Status();
}

void recall_region_costs(FunctionPlanning& planning) {
  ChosenPlan& chosen = planning.function.chosen;
  const Partition& partition = chosen.plan.partition;
  chosen.regions.resize(partition.regions.size());
  if (chosen.costs) predict_regions(planning.problem(), partition, *chosen.costs, chosen.regions);
  if (CostTable* table = planning.tools->compiler().tuning().costs())
    recall_regions(planning.problem(), partition, *table,
                   plan_conditions(planning.problem(), planning.request), chosen.regions);
}

Status verify_plan(const PlanningProblem& problem, const Plan& plan) {
  TRY(verify_partition(problem.graph, plan.placement, plan.partition));
  return verify_steps(problem.graph, plan.partition, problem.space_of_target, plan.steps);
}

Status verify_chosen_plan(const FunctionPlanning& planning) {
  return verify_plan(planning.problem(), planning.function.chosen.plan);
}

}  // namespace intarsia
