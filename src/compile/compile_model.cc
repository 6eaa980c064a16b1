// Sequence of all compile passes; no other file orders them. First the four steps, then their passes in
// order.
#include "compile/compile_model.h"

#include <chrono>

#include "compile/compile_plan.h"
#include "compile/compile_precision.h"
#include "compile/compile_to_c.h"
#include "compile/compile_variants.h"
#include "compile/emit_functions.h"
#include "compile/import_function.h"
#include "compile/plan_draft.h"
#include "compile/plan_function.h"
#include "compile/specialize_function.h"
#include "graph/print_graph.h"
#include "plan/choose/describe_choice.h"
#include "plan/partition/describe_plan.h"
#include "plan/stages/describe_stages.h"

namespace intarsia {
namespace {

/// Rough shares of a compile's time.
constexpr double importing_takes = 0.75, planning_takes = 0.5, regions_take = 15, emitting_takes = 0.5;

Result<CompileResult> compile_once(const CompileRequest& request, const CompileServices& services);
size_t passes_of_an_import();
size_t passes_until_a_plan();

}  // namespace

Result<CompileResult> compile_model(const CompileRequest& request, const CompileServices& services) {
  const auto start = std::chrono::steady_clock::now();
  const auto compile = [&](const CompileRequest& once) { return compile_once(once, services); };
  const auto compile_for_one = [&](const CompileRequest& one) {
    return one.precision == Precision::f32 ? compile(one) : compile_in_precision(one, services, compile);
  };
  CompileResult result = request.plain_c        ? TRY(compile_to_c(request, services, compile))
                         : request.cpus.empty() ? TRY(compile_for_one(request))
                                                : TRY(compile_variants(request, services, compile_for_one));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

namespace {

Result<CompileResult> compile_once(const CompileRequest& request, const CompileServices& services) {
  PassRunner passes(request, services);
  const Progress progress = services.observer.progress.part(1);
  progress.expect(importing_takes + planning_takes + regions_take + emitting_takes);
  passes.show_on(progress.part(importing_takes), passes_of_an_import());
  const std::vector<ImportedFunction> functions = TRY(import_functions(passes));

  CompileResult result;
  const Progress compiling = progress.part(planning_takes + regions_take);
  compiling.expect(static_cast<double>(functions.size()) * (planning_takes + regions_take));
  for (const ImportedFunction& function : functions) {
    passes.show_on(compiling.part(planning_takes), passes_until_a_plan());
    result.functions.push_back(TRY(compile_function(passes, function, compiling.part(regions_take))));
  }

  passes.show_on(progress.part(emitting_takes), 1);
  TRY(emit_program(passes, result));
  result.stopped = !request.stop_after.empty();
  return result;
}

std::string print_model(const FunctionImport& import) { return print_graph(import.graph()); }

constexpr Pass<FunctionImport> reading_passes[] = {
    {"import", read_graph, nullptr, print_model},
};

constexpr Pass<FunctionImport> typing_passes[] = {
    {"bind_shapes", bind_sizes, nullptr, print_model},
    // From here on every size is a number, follows from an open one, or depends on data and is unknown.
    {"infer_types", type_values, nullptr, print_model},
    // From here on every value has a type, and whatever does not depend on inputs is a constant.
    {"resolve_sequences", resolve_all_sequences, nullptr, print_model},
    // From here on a sequence is left only where its elements depend on data.
    {"simplify_reshapes", simplify_model, nullptr, print_model},
    {"remove_dead_nodes", remove_unneeded, nullptr, print_model},
};

}  // namespace

Result<std::vector<ImportedFunction>> import_functions(PassRunner& passes) {
  TRY(check_steps_printed(passes.request(), passes.services()));
  std::vector<ImportedFunction> functions;
  for (const std::string& signature : TRY(choose_signatures(passes.request()))) {
    FunctionImport import = TRY(start_import(passes.request(), passes.services(), signature));
    TRY(passes.run(reading_passes, import));
    TRY(passes.run(typing_passes, import));
    functions.push_back(finish_import(std::move(import)));
  }
  TRY(check_shapes(functions, passes.request()));
  return functions;
}

Result<ImportedFunction> import_graph(PassRunner& passes, const std::string& name, Graph graph) {
  FunctionImport import = TRY(start_import(passes.request(), passes.services(), name));
  import.problem.graph = std::move(graph);
  TRY(passes.run(typing_passes, import));
  return finish_import(std::move(import));
}

namespace {

std::string print_placement(const FunctionPlanning& planning) {
  return describe_placement(planning.problem(), planning.function.chosen.plan.placement);
}
std::string print_choice(const FunctionPlanning& planning) {
  return describe_choice(planning.problem(), planning.function.chosen);
}
std::string print_stages(const FunctionPlanning& planning) {
  return describe_stages(planning.problem(), planning.function.chosen);
}

constexpr Pass<FunctionPlanning> placement_passes[] = {
    {"place_nodes", place_as_asked, nullptr, print_placement},
    // From here on every node has exactly one target. A pass that adds a node must place it.
};

constexpr Pass<PlanDraft> partition_passes[] = {
    {"group_opaque_values", group_values, nullptr, print_groups},
    // From here on nodes that must share a region have the same group.
    {"partition_graph", form_regions, verify_regions, print_regions},
    {"split_branches", part_branches, verify_regions, print_regions},
    {"choose_boundary_layouts", choose_layouts, verify_layouts, print_regions},
    // From here on regions are fixed, and each reads only from earlier ones.
    {"insert_copies", list_steps, nullptr, print_steps},
    {"elide_copies", drop_copies, verify_step_list, print_steps},
    // From here on every value is where it is read, once.
};

constexpr Pass<FunctionPlanning> choice_passes[] = {
    {"choose_plan", choose_function_plan, verify_chosen_plan, print_choice},
    {"choose_stages", choose_function_stages, verify_chosen_plan, print_stages},
    // From here on the plan is final: it ships.
    {"specialize_function", specialize_function, verify_specializations, describe_specializations},
};

/// Joins the placed nodes in regions, and lists the steps that run them.
Result<Plan> make_plan(PassRunner& passes, const PlanningProblem& problem, Placement placement) {
  PlanDraft draft{problem, {std::move(placement), {}, {}}};
  TRY(passes.run(partition_passes, draft));
  return std::move(draft.plan);
}

Result<FunctionPlanning> place(PassRunner& passes, const ImportedFunction& imported) {
  FunctionPlanning planning = TRY(start_planning(passes.request(), imported));
  TRY(passes.run(placement_passes, planning));
  Plan& plan = planning.function.chosen.plan;
  plan = TRY(make_plan(passes, *imported.problem, std::move(plan.placement)));
  return planning;
}

/// Returns a function that plans other placements of the function, without a word.
Replan replan_quietly(const PassRunner& passes, const ImportedFunction& imported) {
  return [quiet = passes.quiet(), problem = imported.problem](Placement placement) mutable {
    return make_plan(quiet, *problem, std::move(placement));
  };
}

}  // namespace

Result<PlannedFunction> place_function(PassRunner& passes, const ImportedFunction& imported) {
  return TRY(place(passes, imported)).function;
}

Result<PlannedFunction> recall_plan(PassRunner& passes, const ImportedFunction& imported) {
  RegionCompiler compiler(*imported.problem, passes.request(), passes.services(), {}, *imported.refused);
  FunctionPlanning planning = TRY(place(passes, imported));
  PlanningTools tools(imported.name, compiler, replan_quietly(passes, imported), TimeSource::memory);
  planning.tools = &tools;
  TRY(recall_plan_costs(planning));
  recall_region_costs(planning);
  return std::move(planning.function);
}

Result<PlannedFunction> plan_function(PassRunner& passes, const ImportedFunction& imported,
                                      RegionCompiler& compiler) {
  FunctionPlanning planning = TRY(place(passes, imported));
  if (!passes.includes(choice_passes[0].name)) return std::move(planning.function);
  passes.show_on({}, 0);  // from here on the compiler of regions shows how far it is
  PlanningTools tools(imported.name, compiler, replan_quietly(passes, imported), TimeSource::measurement);
  planning.tools = &tools;
  TRY(passes.run(choice_passes, planning));
  recall_region_costs(planning);
  return std::move(planning.function);
}

namespace {

constexpr Pass<PlanCompilation> region_passes[] = {
    {"compile_regions", compile_regions, verify_compiled, describe_compiled},
};

constexpr Pass<Emission> emission_passes[] = {
    {"emit_program", emit_functions, nullptr, describe_emission},
};

}  // namespace

Result<CompiledFunction> compile_plan(PassRunner& passes, PlannedFunction planned, RegionCompiler& compiler) {
  PlanCompilation compilation{compiler, {std::move(planned)}};
  TRY(passes.run(region_passes, compilation));
  return std::move(compilation.function);
}

Result<CompiledFunction> compile_function(PassRunner& passes, const ImportedFunction& imported,
                                          Progress regions) {
  constexpr int most_rounds = 6;
  RegionCompiler compiler(*imported.problem, passes.request(), passes.services(), std::move(regions),
                          *imported.refused);
  const auto compile_once = [&]() -> Result<CompiledFunction> {
    return compile_plan(passes, TRY(plan_function(passes, imported, compiler)), compiler);
  };
  for (int round = 1;; ++round) {
    const size_t refused = imported.refused->all().size();
    Result<CompiledFunction> compiled = compile_once();
    const bool has_refused = imported.refused->all().size() > refused;
    if (!has_refused || round > most_rounds || (compiled && round == most_rounds)) return compiled;
    if (round == most_rounds) imported.refused->leave_out_all();
    TRY(check_not_cancelled(passes.services().observer));
  }
}

Status emit_program(PassRunner& passes, CompileResult& result) {
  Emission emission{passes.request(), result.functions};
  TRY(passes.run(emission_passes, emission));
  result.constants_bytes = emission.constants_bytes;
  result.size = emission.size;
  result.plain_c = std::move(emission.plain_c);
  return {};
}

namespace {

template <typename State, size_t count>
void add_names(const Pass<State> (&passes)[count], std::vector<std::string>& names) {
  for (const Pass<State>& pass : passes) names.emplace_back(pass.name);
}

size_t passes_of_an_import() { return std::size(reading_passes) + std::size(typing_passes); }
size_t passes_until_a_plan() { return std::size(placement_passes) + std::size(partition_passes); }

}  // namespace

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  add_names(reading_passes, names);
  add_names(typing_passes, names);
  add_names(placement_passes, names);
  add_names(partition_passes, names);
  add_names(choice_passes, names);
  add_names(region_passes, names);
  add_names(emission_passes, names);
  return names;
}

}  // namespace intarsia
