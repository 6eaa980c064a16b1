// The table of contents: what happens to a model, in order. Nothing else sequences passes.
#include "compile/compile_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "compile/choose_plan.h"
#include "compile/choose_targets.h"
#include "compile/compile_regions.h"
#include "compile/describe.h"
#include "compile/emit_program.h"
#include "compile/measure_plans.h"
#include "compile/pass_runner.h"
#include "graph/print_graph.h"
#include "import/import_model.h"
#include "passes/remove_dead_nodes.h"
#include "plan/elide_copies.h"
#include "plan/group_opaque_values.h"

namespace intarsia {
namespace {

/// Asks the backends, in order, for the types of an operator that the op table lacks.
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

/// The signatures that become functions; one without a name for a model that has no signatures.
Result<std::vector<std::string>> choose_functions(const CompileRequest& request) {
  if (find_model_format(request.model_path) != ModelFormat::saved_model) {
    if (!request.signatures.empty())
      return fail("--signature {}: model '{}' is no SavedModel folder and has no signatures",
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

/// A shape that is given may be meant for another signature.
std::map<std::string, Shape> shapes_for(const std::string& function, const Graph& graph,
                                        const CompileRequest& request) {
  std::map<std::string, Shape> shapes = request.shapes;
  if (!function.empty())
    std::erase_if(shapes, [&](const auto& entry) { return !has_input(graph, entry.first); });
  return shapes;
}

Status check_shapes_meant(const std::vector<CompiledPlan>& functions, const CompileRequest& request) {
  for (const auto& [name, shape] : request.shapes) {
    const bool known = std::ranges::any_of(
        functions, [&](const CompiledPlan& function) { return has_input(function.plan.graph, name); });
    if (!known)
      return fail("--shape {}: no function of the model has such an input; `intarsia explain` lists them",
                  name);
  }
  return {};
}

/// From nodes with targets to regions, and the steps that run them.
Status plan_regions(PassRunner& passes, CompileResult& result) {
  Graph& graph = result.graph;
  const std::vector<uint32_t> memories = memories_of(result.targets, result.slots);
  const auto print_steps = [&] { return describe_steps(result); };

  TRY(passes.run(
      "group_opaque_values", graph,
      [&] { return group_opaque_values(graph, result.targets, result.placement); },
      [&] { return describe_placement(result); }));
  // From here nodes that must share a region have one group.

  TRY(passes.run(
      "partition_graph", graph,
      [&]() -> Status {
        result.partition = partition_graph(graph, result.placement);
        result.boundaries = find_boundaries(graph, result.partition);
        return verify_partition(graph, result.placement, result.partition);
      },
      [&] { return describe_partition(result); }));
  // From here regions are fixed: each reads only from earlier ones.

  TRY(passes.run(
      "insert_copies", graph,
      [&]() -> Status {
        result.steps = insert_copies(graph, result.partition, result.boundaries, memories);
        return {};
      },
      print_steps));
  return passes.run(
      "elide_copies", graph,
      [&]() -> Status {
        result.steps = elide_copies(result.steps);
        return verify_steps(graph, result.partition, result.boundaries, memories, result.steps);
      },
      print_steps);
  // From here every value is where it is read, once.
}

Result<CompileResult> run_passes(const std::string& function, const CompileRequest& request,
                                 const BackendRegistry& tools, const Progress& progress) {
  CompileResult result;
  Graph& graph = result.graph;
  result.slots = TRY(parse_slots(request.devices));
  result.targets = TRY(choose_targets(request, tools, result.slots));
  const InferForeign infer_foreign = infer_by(result.targets);
  PassRunner passes(request, tools, progress);
  const auto print_model = [&] { return print_graph(graph); };

  TRY(passes.run(
      "import", graph,
      [&]() -> Status {
        graph = TRY(import_model(request.model_path, {function, tools.tensorflow}));
        result.function_name = function.empty() ? "main" : function;
        return choose_outputs(graph, request.outputs);
      },
      print_model));
  result.model_weights_bytes = bytes_of_constants(graph);

  TRY(passes.run(
      "bind_shapes", graph,
      [&]() -> Status {
        result.bindings = TRY(bind_shapes(graph, shapes_for(function, graph, request)));
        return {};
      },
      print_model));
  // From here every size is a number, or unknown until run time because it depends on data.

  TRY(passes.run(
      "fold_constants", graph,
      [&] { return with_kind(ErrorKind::corrupt, fold_constants(graph, tools.evaluate, infer_foreign)); },
      print_model));
  // From here every value has a type, and shape arithmetic is gone.

  TRY(passes.run(
      "remove_dead_nodes", graph,
      [&]() -> Status {
        remove_dead_nodes(graph);
        return {};
      },
      print_model));

  TRY(passes.run(
      "place_nodes", graph,
      [&]() -> Status {
        result.placement = TRY(place_nodes(graph, result.targets, request.pins));
        return {};
      },
      [&] { return describe_placement(result); }));
  // From here every node has exactly one target. A pass that adds a node must place it.

  TRY(plan_regions(passes, result));
  result.stopped = passes.stopped();
  return result;
}

/// Names of steps are known when the backends are there.
Status check_steps_printed(const CompileRequest& request, const BackendRegistry& tools) {
  std::vector<std::string> known;
  for (const auto& target : tools.targets)
    for (const std::string& step : target->step_names())
      known.push_back(fmt::format("{}.{}", target->name(), step));
  for (const std::string& name : request.print_after)
    if (name.contains('.') && std::ranges::find(known, name) == known.end())
      return fail("--print-after {}: no such step; there are {}", name, fmt::join(known, ", "));
  return {};
}

/// The faster of the plan as placed and what a framework could run of it.
CompileResult choose_measured_plan(CompileResult placed, RegionCompiler& compiler,
                                   const CompileRequest& request, const BackendRegistry& tools) {
  PlanTools plan_tools{.disabled_reason = why_plans_are_not_measured(compiler, request, tools)};
  std::optional<PlanTimer> timer;
  if (plan_tools.disabled_reason.empty()) {
    timer.emplace([&](const auto& plans) { return measure_plans(plans, compiler, request, tools); },
                  *compiler.tuning().costs(), plan_conditions(request));
    plan_tools.timer = &*timer;
  }
  plan_tools.replan = [&](CompileResult plan, Placement placement) -> Result<CompileResult> {
    plan.placement = std::move(placement);
    PassRunner quiet = PassRunner::quiet(request, tools);
    TRY(plan_regions(quiet, plan));
    return plan;
  };
  return choose_plan(std::move(placed), plan_tools);
}

/// Parts of a compile's time, by and large.
constexpr double passes_take = 1, regions_take = 15, emitting_takes = 0.5;

}  // namespace

std::vector<std::string> pass_names() {
  return {"import",      "bind_shapes",         "fold_constants",  "remove_dead_nodes",
          "place_nodes", "group_opaque_values", "partition_graph", "insert_copies",
          "elide_copies"};
}

Result<std::vector<CompileResult>> compile_model(const CompileRequest& request,
                                                 const BackendRegistry& tools) {
  const auto start = std::chrono::steady_clock::now();
  TRY(check_steps_printed(request, tools));
  std::vector<CompiledPlan> functions;
  const std::vector<std::string> names = TRY(choose_functions(request));
  const Progress progress = tools.progress.part(1);
  progress.expect(static_cast<double>(names.size()) * (passes_take + regions_take) + emitting_takes);
  for (const std::string& function : names) {
    CompileResult result = TRY(run_passes(function, request, tools, progress.part(passes_take)));
    const Progress compiling = progress.part(regions_take);
    CompiledRegions regions;
    if (!result.stopped) {
      RegionCompiler compiler(request, tools, compiling);
      result = choose_measured_plan(std::move(result), compiler, request, tools);
      // From here the plan is what ships.
      regions = TRY(compiler.compile(result));
    }
    functions.push_back({std::move(result), std::move(regions)});
  }
  TRY(check_shapes_meant(functions, request));
  TRY(check_not_cancelled(tools));
  progress.begin("emit_program");
  if (!functions[0].plan.stopped) TRY(emit_program(functions, request));
  progress.did("emit_program", emitting_takes);
  std::vector<CompileResult> results;
  for (CompiledPlan& function : functions) results.push_back(std::move(function.plan));
  results[0].compile_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return results;
}

}  // namespace intarsia
