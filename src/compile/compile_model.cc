// Sequence of all compile passes; no other file orders them.
#include "compile/compile_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "compile/annotated_pins.h"
#include "compile/choose_targets.h"
#include "compile/emit_program.h"
#include "compile/measure_plans.h"
#include "compile/pass_runner.h"
#include "compile/program_memory.h"
#include "graph/print_graph.h"
#include "import/import_model.h"
#include "import/read_annotations.h"
#include "passes/infer_types.h"
#include "passes/note_quantization.h"
#include "passes/remove_dead_nodes.h"
#include "plan/choose/fit_memory.h"
#include "plan/choose/plan_file.h"
#include "plan/costs/predict_plan.h"
#include "plan/partition/boundary_layouts.h"
#include "plan/partition/describe_plan.h"
#include "plan/partition/elide_copies.h"
#include "plan/partition/group_opaque_values.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "plan/partition/split_branches.h"
#include "plan/place/place_nodes.h"
#include "plan/stages/cut_graph.h"
#include "plan/stages/stage_frames.h"

namespace intarsia {
namespace {

/// Returns a function that asks the backends, in order, for the types of an operator that the op table lacks.
InferForeign infer_by(const std::vector<PlacementTarget>& targets) {
  return [&targets](Graph& graph, NodeId node) -> Status {
    const Target* asked = nullptr;
    for (const PlacementTarget& target : targets) {
      if (target.backend == asked) continue;
      asked = target.backend;
      TRY(asked->infer_types(graph, node));
    }
    return {};
  };
}

Status choose_outputs(Graph& graph, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  graph.outputs.clear();
  for (const std::string& name : names) {
    const auto value = std::ranges::find(graph.values, name, &Value::name);
    if (value == graph.values.end()) return fail("no value '{}' to be an output", name);
    graph.outputs.push_back(ValueId(value - graph.values.begin()));
  }
  return {};
}

uint64_t bytes_of_constants(const Graph& graph) {
  uint64_t bytes = 0;
  for (const Value& value : graph.values) bytes += value.constant ? value.constant->bytes() : 0;
  return bytes;
}

/// Returns the signatures that become functions; a single empty name for a model without signatures.
Result<std::vector<std::string>> choose_functions(const CompileRequest& request) {
  if (find_model_format(request.model_path) != ModelFormat::saved_model) {
    if (!request.signatures.empty())
      return fail("--signature {}: model '{}' is not a SavedModel folder and has no signatures",
                  request.signatures[0], request.model_path);
    return std::vector<std::string>{""};
  }
  if (!request.signatures.empty()) return request.signatures;
  std::vector<std::string> all = TRY(list_functions(request.model_path));
  if (std::ranges::find(all, "serving_default") != all.end())
    return std::vector<std::string>{"serving_default"};
  if (all.empty())
    return fail(
        "model '{}' has no signatures; export it with signatures (model.export, or signatures= of "
        "tf.saved_model.save)",
        request.model_path);
  return all;
}

bool has_input(const Graph& graph, const std::string& name) {
  return std::ranges::any_of(graph.inputs, [&](ValueId input) { return graph.value(input).name == name; });
}

/// Returns the requested shapes that apply to the function; the others may be meant for other signatures.
std::map<std::string, Shape> shapes_for(const std::string& function, const Graph& graph,
                                        const CompileRequest& request) {
  std::map<std::string, Shape> shapes = request.shapes;
  if (!function.empty())
    std::erase_if(shapes, [&](const auto& entry) { return !has_input(graph, entry.first); });
  return shapes;
}

Status check_shapes_meant(const std::vector<CompiledFunction>& functions, const CompileRequest& request) {
  for (const auto& [name, shape] : request.shapes) {
    const bool known = std::ranges::any_of(
        functions, [&](const CompiledFunction& function) { return has_input(function.problem.graph, name); });
    if (!known)
      return fail("--shape {}: no function of the model has such an input; `intarsia explain` lists them",
                  name);
  }
  return {};
}

/// A function of the model before anything is placed.
struct ImportedFunction {
  Graph graph;
  uint64_t weights_bytes = 0;  // size of the weights as stored in the model
  std::vector<SymbolBinding> bindings;
};

Result<ImportedFunction> import_function(PassRunner& passes, const std::string& name,
                                         const std::vector<PlacementTarget>& targets,
                                         const CompileRequest& request, const BackendRegistry& tools) {
  ImportedFunction function;
  Graph& graph = function.graph;
  const auto print_model = [&] { return print_graph(graph); };

  TRY(passes.run(
      "import", graph,
      [&]() -> Status {
        graph = TRY(import_model(request.model_path, {name, tools.tensorflow}));
        return choose_outputs(graph, request.outputs);
      },
      print_model));
  function.weights_bytes = bytes_of_constants(graph);

  TRY(passes.run(
      "bind_shapes", graph,
      [&]() -> Status {
        function.bindings = TRY(bind_shapes(graph, shapes_for(name, graph, request)));
        return {};
      },
      print_model));
  // Invariant from here on: every size is a number, or depends on data and is unknown until run time.

  TRY(passes.run(
      "infer_types", graph,
      [&] { return with_kind(ErrorKind::corrupt, infer_types(graph, tools.evaluate, infer_by(targets))); },
      print_model));
  // Invariant from here on: every value has a type, and whatever does not depend on inputs is a constant.

  TRY(passes.run(
      "remove_dead_nodes", graph,
      [&]() -> Status {
        remove_dead_nodes(graph);
        note_quantization(graph);
        return {};
      },
      print_model));
  return function;
}

/// Returns the plan that the user's plan file has for the function; nullopt without such a file.
Result<std::optional<SavedPlan>> read_given_plan(const std::string& function, const CompileRequest& request) {
  if (request.plan_path.empty()) return std::nullopt;
  if (!request.pins.empty()) return fail("--plan and --pin both say where nodes run; give one of them");
  const auto plans = TRY(read_plan_file(request.plan_path));
  const auto plan = plans.find(function);
  if (plan == plans.end()) return fail("plan '{}': it has no function '{}'", request.plan_path, function);
  return plan->second;
}

Result<Placement> place_model(CompiledFunction& function, const CompileRequest& request) {
  const PlanningProblem& problem = function.problem;
  const AnnotatedPins in_model = TRY(pin_annotated(problem, TRY(read_annotations(request.model_path))));
  function.notes.clear();
  for (const std::string& place : in_model.unknown)
    function.notes.push_back(fmt::format(
        "the model's metadata names {}, which is no target or slot here and means nothing", place));
  return place_nodes(problem.graph, problem.targets, request.pins, in_model.pins);
}

/// Turns nodes with targets into regions and the steps that run them.
Result<Plan> make_plan(PassRunner& passes, const PlanningProblem& problem, Placement placement) {
  const Graph& graph = problem.graph;
  Plan plan{std::move(placement), {}, {}};
  const auto print_steps = [&] { return describe_steps(problem, plan.partition, plan.steps); };

  TRY(passes.run(
      "group_opaque_values", graph,
      [&]() -> Status {
        TRY(group_opaque_values(graph, problem.targets, plan.placement));
        return verify_stage_order(graph, plan.placement);
      },
      [&] { return describe_placement(problem, plan.placement); }));
  // Invariant from here on: nodes that must share a region have the same group.

  TRY(passes.run(
      "partition_graph", graph,
      [&]() -> Status {
        plan.partition = partition_graph(graph, plan.placement);
        return verify_partition(graph, plan.placement, plan.partition);
      },
      [&] { return describe_partition(problem, plan.partition); }));
  TRY(passes.run(
      "split_branches", graph,
      [&]() -> Status {
        split_branches(problem, plan.placement, plan.partition);
        return verify_partition(graph, plan.placement, plan.partition);
      },
      [&] { return describe_partition(problem, plan.partition); }));
  TRY(passes.run(
      "choose_boundary_layouts", graph,
      [&]() -> Status {
        TRY(choose_boundary_layouts(problem, plan.partition));
        return verify_boundary_layouts(problem, plan.partition);
      },
      [&] { return describe_partition(problem, plan.partition); }));
  // Invariant from here on: regions are fixed, and each reads only from earlier ones.

  TRY(passes.run(
      "insert_copies", graph,
      [&]() -> Status {
        plan.steps = insert_copies(graph, plan.partition, problem.space_of_target);
        return {};
      },
      print_steps));
  TRY(passes.run(
      "elide_copies", graph,
      [&]() -> Status {
        plan.steps = elide_copies(plan.steps);
        return verify_steps(graph, plan.partition, problem.space_of_target, plan.steps);
      },
      print_steps));
  // Invariant from here on: every value is where it is read, once.
  return plan;
}

/// Checks that every backend step in print_after exists; names of steps come from the backends.
Status check_steps_printed(const CompileRequest& request, const BackendRegistry& tools) {
  std::vector<std::string> known;
  for (const auto& target : tools.targets)
    for (const std::string& step : target->info().step_names)
      known.push_back(fmt::format("{}.{}", target->name(), step));
  for (const std::string& name : request.print_after)
    if (name.contains('.') && std::ranges::find(known, name) == known.end())
      return fail("--print-after {}: no such step; there are {}", name, fmt::join(known, ", "));
  return {};
}

/// Divides the plan that ships into stages.
Status divide_plan(const CompileRequest& request, const PlanTools& plan_tools, CompiledFunction& function) {
  ChosenPlan& chosen = function.chosen;
  StagedPlan staged = TRY(
      choose_stages(function.problem, chosen, {.cuts = request.cuts, .count = request.stages}, plan_tools));
  chosen.plan = std::move(staged.plan);
  chosen.stages = std::move(staged.stages);
  chosen.alternatives = std::move(staged.alternatives);
  chosen.measured.reset();
  chosen.predicted.reset();
  if (plan_tools.timer != nullptr) {
    if (const auto times = plan_tools.timer->time_runs({&chosen.plan}); times && (*times)[0] != never)
      chosen.measured = (*times)[0];
  }
  function.stage_report = std::move(staged.report);
  return {};
}

/// Chooses the faster of the plan as placed and the plans that frameworks could run parts of; with stages if
/// requested.
Status choose_measured_plan(RegionCompiler& compiler, const CompileRequest& request,
                            const BackendRegistry& tools, CompiledFunction& function) {
  const PlanningProblem& problem = function.problem;
  PlanTools plan_tools{.disabled_reason = why_plans_are_not_measured(compiler, request, tools)};
  std::optional<PlanTimer> timer;
  if (plan_tools.disabled_reason.empty()) {
    timer.emplace(
        problem,
        [&](const auto& plans) -> Result<std::vector<Result<PlanTimes>>> {
          if (request.only_remembered)
            return fail(
                "its plans were not timed on this machine, with these options; `intarsia compile` does");
          return measure_plans(problem, plans, compiler, request, tools);
        },
        [&] { return compiler.tuning().probe(); }, *compiler.tuning().costs(), plan_conditions(request),
        tools.peak ? tools.peak() : 0);
    plan_tools.timer = &*timer;
    plan_tools.time_link = [&](const DeviceSlot& from, const DeviceSlot& to) {
      return measure_link(from, to, compiler, request, tools);
    };
  }
  MemoryMeter meter(function.name, problem, compiler);
  const bool has_limit =
      std::ranges::any_of(problem.memory_limits, [](uint64_t bytes) { return bytes != no_limit; });
  if (has_limit && !request.only_remembered) {
    plan_tools.memory = {[&](const Plan& plan) { return meter.measure(plan); },
                         [&](const Plan& plan) { return meter.estimate(plan); },
                         [&](const Plan& plan, const std::vector<ChosenStage>& stages) {
                           return meter.measure(plan, stages);
                         }};
    plan_tools.is_placement_kept = !request.plan_path.empty() || request.keep_placement;
  }
  plan_tools.also = request.also;
  plan_tools.prefer = request.prefer;
  plan_tools.only_also = request.prefers_size;
  plan_tools.replan = [&](Placement placement) {
    PassRunner quiet = PassRunner::quiet(request, tools);
    return make_plan(quiet, problem, std::move(placement));
  };
  function.chosen = TRY(choose_plan(problem, std::move(function.chosen.plan), plan_tools));
  const bool is_divided =
      request.objective == Objective::throughput && request.plan_path.empty() && !request.only_remembered;
  return is_divided ? divide_plan(request, plan_tools, function) : Status();
}

/// Takes the stages from a plan file.
Status take_given_stages(const CompileRequest& request, const SavedPlan& given, CompiledFunction& function) {
  function.chosen.stages =
      TRY(with_context(stages_of_plan(function.problem.slots, given), "plan '{}'", request.plan_path));
  if (request.objective == Objective::throughput && given.stages.empty())
    return fail("--objective throughput: plan '{}' has no stages: save it by a compile with this objective",
                request.plan_path);
  const std::vector<StageMemory> memory(function.problem.spaces.size(),
                                        {.has_spare_frame = request.memory_limits.empty()});
  set_frames(function.problem, function.chosen.plan, memory, function.chosen.stages);
  return {};
}

/// Predicts the cost of a plan from a file, which is not measured.
void predict_given_plan(RegionCompiler& compiler, const CompileRequest& request, const SavedPlan& given,
                        CompiledFunction& function) {
  ChosenPlan& chosen = function.chosen;
  chosen.measured = given.measured;
  CostTable* table = compiler.tuning().costs();
  if (table == nullptr) return;
  std::optional<PlanPrediction> prediction =
      predict_plan(function.problem, chosen.plan.placement, *table, plan_conditions(request));
  if (!prediction) return;
  chosen.predicted = prediction->whole;
  chosen.costs = std::move(prediction->costs);
}

/// Looks up the time of each region of the plan.
void recall_regions(RegionCompiler& compiler, const CompileRequest& request, CompiledFunction& function) {
  ChosenPlan& chosen = function.chosen;
  const Partition& partition = chosen.plan.partition;
  chosen.regions.resize(partition.regions.size());
  if (chosen.costs) predict_regions(function.problem, partition, *chosen.costs, chosen.regions);
  if (CostTable* table = compiler.tuning().costs())
    recall_regions(function.problem, partition, *table, plan_conditions(request), chosen.regions);
}

/// Looks up what the cost table knows of the plan, and keeps that plan.
Status recall_costs(RegionCompiler& compiler, const CompileRequest& request, const BackendRegistry& tools,
                    CompiledFunction& function) {
  const Plan plan = function.chosen.plan;
  TRY(choose_measured_plan(compiler, request, tools, function));
  ChosenPlan known = std::exchange(function.chosen, ChosenPlan{.plan = plan, .report = std::nullopt});
  function.chosen.report = std::move(known.report);
  function.chosen.costs = std::move(known.costs);
  if (function.chosen.report) function.chosen.measured = function.chosen.report->as_placed;
  return {};
}

/// Compiles the alternatives; those that do not compile are left out.
Status compile_alternatives(RegionCompiler& compiler, const BackendRegistry& tools,
                            CompiledFunction& function) {
  std::vector<AlternativePlan> compiled;
  for (AlternativePlan& alternative : function.chosen.alternatives) {
    Result<CompiledRegions> regions = compiler.compile(alternative.plan);
    TRY(check_not_cancelled(tools));
    if (!regions) continue;
    compiled.push_back(std::move(alternative));
    function.alternatives.push_back(std::move(*regions));
  }
  function.chosen.alternatives = std::move(compiled);
  return {};
}

Result<Plan> place_and_plan(PassRunner& passes, CompiledFunction& function, const CompileRequest& request,
                            const std::optional<SavedPlan>& given) {
  const PlanningProblem& problem = function.problem;
  Placement placement;
  TRY(passes.run(
      "place_nodes", problem.graph,
      [&]() -> Status {
        placement = TRY(given ? with_context(place_by_plan(problem.graph, problem.targets, *given),
                                             "plan '{}'", request.plan_path)
                              : place_model(function, request));
        return {};
      },
      [&] { return describe_placement(problem, placement); }));
  // Invariant from here on: every node has exactly one target. A pass that adds a node must place it.
  return make_plan(passes, problem, std::move(placement));
}

Status choose_and_compile_once(RegionCompiler& compiler, const CompileRequest& request,
                               const BackendRegistry& tools, const std::optional<SavedPlan>& given,
                               CompiledFunction& function) {
  TRY(choose_measured_plan(compiler, request, tools, function));
  if (given) TRY(take_given_stages(request, *given, function));
  if (given) predict_given_plan(compiler, request, *given, function);
  recall_regions(compiler, request, function);
  // The plan is final from here on: it ships.
  function.regions = TRY(compiler.compile(function.chosen.plan));
  return compile_alternatives(compiler, tools, function);
}

/// Repeats the choice without the regions that plug-ins refused while they refuse more, and finally without
/// any plug-in.
Status choose_and_compile(RegionCompiler& compiler, const CompileRequest& request,
                          const BackendRegistry& tools, const std::optional<SavedPlan>& given,
                          CompiledFunction& function) {
  constexpr int most_rounds = 6;
  for (int round = 1;; ++round) {
    const size_t refused = function.refused->all().size();
    const Status compiled = choose_and_compile_once(compiler, request, tools, given, function);
    const bool has_refused = function.refused->all().size() > refused;
    if (!has_refused || (compiled && round >= most_rounds)) return compiled;
    if (round > most_rounds) return compiled;
    if (round == most_rounds) function.refused->leave_out_all();
    TRY(check_not_cancelled(tools));
    PassRunner quiet = PassRunner::quiet(request, tools);
    function.chosen =
        ChosenPlan{.plan = TRY(place_and_plan(quiet, function, request, given)), .report = std::nullopt};
    function.regions = {};
    function.alternatives.clear();
  }
}

/// Rough shares of a compile's time.
constexpr double passes_take = 1, regions_take = 15, emitting_takes = 0.5;

/// Compiles one function: Graph -> Placement -> Plan -> CompiledRegions.
Result<CompiledFunction> compile_function(const std::string& name, const CompileRequest& request,
                                          const BackendRegistry& tools, const Progress& progress) {
  PassRunner passes(request, tools, progress.part(passes_take));
  const Progress compiling = progress.part(regions_take);
  CompiledFunction function;
  PlanningProblem& problem = function.problem;
  function.name = name.empty() ? "main" : name;
  TRY(choose_targets(request, tools, problem));
  function.refused->guard(problem);

  ImportedFunction imported = TRY(import_function(passes, name, problem.targets, request, tools));
  problem.graph = std::move(imported.graph);
  function.bindings = std::move(imported.bindings);
  function.model_weights_bytes = imported.weights_bytes;

  const std::optional<SavedPlan> given = TRY(read_given_plan(function.name, request));
  function.chosen.plan = TRY(place_and_plan(passes, function, request, given));
  if (passes.stopped() && !request.only_remembered) return function;
  RegionCompiler compiler(problem, request, tools, compiling, *function.refused);
  if (request.only_remembered) {
    TRY(recall_costs(compiler, request, tools, function));
    if (given) TRY(take_given_stages(request, *given, function));
    recall_regions(compiler, request, function);
    return function;
  }
  TRY(choose_and_compile(compiler, request, tools, given, function));
  return function;
}

FunctionParts parts_of(const CompiledFunction& function) {
  const ChosenPlan& chosen = function.chosen;
  FunctionParts parts{function.name,    function.problem, chosen.plan,
                      function.regions, chosen.measured,  chosen.regions};
  for (size_t i = 0; i < function.alternatives.size(); ++i) {
    const AlternativePlan& other = chosen.alternatives[i];
    parts.alternatives.push_back(
        {function.name, function.problem, other.plan, function.alternatives[i], other.measured, {}});
  }
  parts.stages = chosen.stages;
  return parts;
}

Status write_plans(const CompileResult& result, const CompileRequest& request) {
  if (request.saved_plan_path.empty()) return {};
  std::map<std::string, SavedPlan> plans;
  for (const CompiledFunction& function : result.functions) {
    const ChosenPlan& chosen = function.chosen;
    plans[function.name] = save_plan(function.problem, chosen.plan.placement, chosen.measured, chosen.stages);
  }
  return write_plan_file(request.saved_plan_path, plans);
}

/// Measures each function on its own for the report, and checks the limits for all functions together.
Status measure_functions(CompileResult& result, const std::vector<FunctionParts>& parts) {
  ConstantDigests digests;
  for (size_t i = 0; i < parts.size(); ++i)
    result.functions[i].memory = TRY(measure_memory({parts[i]}, digests));
  return check_memory(parts[0].problem, TRY(measure_memory(parts, digests)));
}

Status write_functions(CompileResult& result, const CompileRequest& request) {
  std::vector<FunctionParts> parts;
  for (const CompiledFunction& function : result.functions) parts.push_back(parts_of(function));
  TRY(measure_functions(result, parts));
  const ProgramSizes sizes = TRY(emit_program(parts, request));
  result.constants_bytes = sizes.constants_bytes;
  for (size_t i = 0; i < parts.size(); ++i) result.functions[i].arena_bytes = sizes.arena_bytes[i];
  if (!request.dry_run) result.size = measure_size(TRY(read_program(request.program_path)));
  return {};
}

}  // namespace

std::vector<std::string> pass_names() {
  return {"import",
          "bind_shapes",
          "infer_types",
          "remove_dead_nodes",
          "place_nodes",
          "group_opaque_values",
          "partition_graph",
          "split_branches",
          "choose_boundary_layouts",
          "insert_copies",
          "elide_copies"};
}

Result<CompileResult> compile_model(const CompileRequest& request, const BackendRegistry& tools) {
  const auto start = std::chrono::steady_clock::now();
  TRY(check_steps_printed(request, tools));
  const std::vector<std::string> names = TRY(choose_functions(request));
  const Progress progress = tools.progress.part(1);
  progress.expect(static_cast<double>(names.size()) * (passes_take + regions_take) + emitting_takes);
  CompileResult result;
  result.stopped = !request.stop_after.empty();
  for (const std::string& name : names)
    result.functions.push_back(TRY(compile_function(name, request, tools, progress)));
  TRY(check_shapes_meant(result.functions, request));
  TRY(check_not_cancelled(tools));
  progress.begin("emit_program");
  if (!result.stopped) {
    TRY(write_functions(result, request));
    TRY(write_plans(result, request));
  }
  progress.did("emit_program", emitting_takes);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace intarsia
