#include "compile/import_function.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "compile/choose_targets.h"
#include "graph/size_roles.h"
#include "import/import_model.h"
#include "passes/infer_types.h"
#include "passes/joined_sizes.h"
#include "passes/note_quantization.h"
#include "passes/pinned_sizes.h"
#include "passes/remove_dead_nodes.h"
#include "passes/resolve_sequences.h"
#include "passes/simplify_reshapes.h"
#include "plan/choose/plan_file.h"

namespace intarsia {
namespace {

/// Returns a function that asks the backends, in order, for the types of an operator that the op table lacks.
/// What our own backends know of subgraphs counts more than what frameworks do.
InferForeign infer_by(const std::vector<PlacementTarget>& targets) {
  return [&targets](Graph& graph, NodeId node) -> Status {
    for (const bool runs_bodies : {false, true}) {
      const Target* asked = nullptr;
      for (const PlacementTarget& target : targets) {
        if (target.backend == asked || target.backend->info().runs_bodies != runs_bodies) continue;
        asked = target.backend;
        TRY(asked->infer_types(graph, node));
      }
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

bool has_input(const Graph& graph, const std::string& name) {
  return std::ranges::any_of(graph.inputs, [&](ValueId input) { return graph.value(input).name == name; });
}

/// Returns the requested shapes that apply to the signature; the others may be meant for others.
std::map<std::string, RequestedShape> shapes_for(const FunctionImport& import) {
  std::map<std::string, RequestedShape> shapes = import.request.shapes;
  if (!import.signature.empty())
    std::erase_if(shapes, [&](const auto& entry) { return !has_input(import.graph(), entry.first); });
  return shapes;
}

/// Returns the shapes of the plan file; none if there is none, or it lacks the function, which planning
/// reports.
Result<PlanShapes> shapes_of_plan(const FunctionImport& import) {
  if (import.request.plan_path.empty()) return PlanShapes();
  const auto plans = TRY(read_plan_file(import.request.plan_path));
  const auto plan = plans.find(import.name());
  return plan == plans.end() ? PlanShapes() : plan->second.shapes;
}

/// Formats the error of a symbol of --tune-at that is not among the open sizes.
std::string unknown_symbol(const std::string& symbol, const std::vector<OpenSize>& open) {
  std::vector<std::string> names;
  for (const OpenSize& size : open) names.push_back(size.name);
  const std::string message = fmt::format("--tune-at {}: no size of this name is open; ", symbol);
  if (names.empty()) return message + "all sizes are numbers, see --shape for how to leave one open";
  return message + fmt::format("there are: {}", fmt::join(names, ", "));
}

/// Checks whether the user names a device for which no backend takes sizes that are open.
bool wants_numbers(const FunctionImport& import) {
  const PlanningProblem& problem = import.problem;
  const auto takes_open_sizes = [&](uint32_t slot) {
    return std::ranges::any_of(problem.targets, [&](const PlacementTarget& target) {
      return target.slot == slot && target.backend->info().takes_open_sizes;
    });
  };
  for (uint32_t slot = 0; slot < problem.slots.size(); ++slot) {
    const bool is_named = std::ranges::find(import.request.automatic, problem.slots[slot].device,
                                            &CandidateDevice::name) == import.request.automatic.end();
    if (is_named && !takes_open_sizes(slot)) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> choose_signatures(const CompileRequest& request) {
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

Result<FunctionImport> start_import(const CompileRequest& request, const CompileServices& services,
                                    const std::string& signature) {
  FunctionImport import{request, services, signature};
  TRY(choose_targets(request, services, import.problem));
  import.refused->guard(import.problem);
  return import;
}

ImportedFunction finish_import(FunctionImport import) {
  return {.name = import.name(),
          .model_weights_bytes = import.weights_bytes,
          .bindings = std::move(import.bindings),
          .size_notes = std::move(import.size_notes),
          .tuned_symbols = std::move(import.tuned_symbols),
          .refused = std::move(import.refused),
          .problem = std::make_shared<const PlanningProblem>(std::move(import.problem))};
}

Status read_graph(FunctionImport& import) {
  Graph& graph = import.problem.graph;
  graph = TRY(import_model(import.request.model_path, {import.signature, import.services.tensorflow}));
  TRY(choose_outputs(graph, import.request.outputs));
  import.weights_bytes = bytes_of_constants(graph);
  return {};
}

namespace {

/// Puts the sizes of --tune-at before those to be fastest at that shapes list.
Status tune_sizes(FunctionImport& import) {
  std::vector<OpenSize>& open = import.problem.graph.open_sizes;
  for (const auto& [symbol, sizes] : import.request.tune_at) {
    const auto size = std::ranges::find(open, symbol, &OpenSize::name);
    if (size == open.end() && !import.signature.empty()) continue;  // may be meant for another function
    if (size == open.end()) return fail("{}", unknown_symbol(symbol, open));
    for (int64_t wanted : sizes)
      if (!size->range.contains(wanted))
        return fail("--tune-at {0}={1}: '{0}' is {2}..{3}; want a size within, or another range (--shape)",
                    symbol, wanted, size->range.min, size->range.max);
    std::vector<int64_t> tuned = sizes;
    std::ranges::copy(size->tuned, std::back_inserter(tuned));
    size->tuned.clear();
    for (int64_t one : tuned)
      if (std::ranges::find(size->tuned, one) == size->tuned.end()) size->tuned.push_back(one);
    import.tuned_symbols.push_back(symbol);
  }
  return {};
}

}  // namespace

Status bind_sizes(FunctionImport& import) {
  const Unmentioned unmentioned = wants_numbers(import) ? Unmentioned::become_one : Unmentioned::stay_open;
  const std::string& plan_path = import.request.plan_path;
  const PlanShapes of_plan = TRY(shapes_of_plan(import));
  const PlanShapes shapes = TRY(
      with_context(take_plan_shapes(import.graph(), of_plan, shapes_for(import)), "plan '{}'", plan_path));
  auto bound = bind_shapes(import.problem.graph, shapes, unmentioned);
  if (!of_plan.empty()) bound = with_context(std::move(bound), "plan '{}'", plan_path);
  import.bindings = TRY(std::move(bound));
  return tune_sizes(import);
}

namespace {

/// Fixes a size that the model itself fixes, or takes sizes as one that it combines; returns false if there
/// are none left.
Result<bool> settle_sizes(FunctionImport& import) {
  Graph& graph = import.problem.graph;
  if (const std::optional<PinnedSize> pinned = find_pinned_size(graph)) {
    const auto open = std::ranges::find(graph.open_sizes, pinned->symbol, &OpenSize::name);
    if (!open->by_default)
      return fail(
          "--shape: '{}' cannot stay open: node '{}' {}, which works only where it is {}; give this "
          "number, or export the model without it",
          pinned->symbol, pinned->node, pinned->why, pinned->value);
    if (std::ranges::find(import.tuned_symbols, pinned->symbol) != import.tuned_symbols.end())
      return fail("--tune-at {}: node '{}' {}, which works only where it is {}; leave it out", pinned->symbol,
                  pinned->node, pinned->why, pinned->value);
    import.bindings.push_back({pinned->symbol, pinned->value, true, pinned->node});
    fix_open_size(graph, pinned->symbol, pinned->value);
    return true;
  }
  const std::optional<JoinedSizes> sizes = find_sizes_to_join(graph, import.services.evaluate);
  if (!sizes) return false;
  import.size_notes.push_back(
      fmt::format("the open sizes '{}' and '{}' are taken as one, as node '{}' combines them; two names in "
                  "--shape keep them apart",
                  sizes->kept, sizes->joined, sizes->node));
  join_sizes(graph, *sizes);
  return true;
}

/// Lets programs be fastest at usual pictures and signals where nothing else is wanted.
void tune_usual_sizes(Graph& graph) {
  const std::map<std::string, int64_t> usual = usual_sizes(graph);
  for (OpenSize& size : graph.open_sizes)
    if (const auto known = usual.find(size.name); size.tuned.empty() && known != usual.end())
      size.tuned.push_back(std::clamp(known->second, size.range.min, size.range.max));
}

Status infer_all_types(FunctionImport& import) {
  PlanningProblem& problem = import.problem;
  do {
    TRY(with_kind(ErrorKind::corrupt,
                  infer_types(problem.graph, import.services.evaluate, infer_by(problem.targets))));
  } while (TRY(settle_sizes(import)));
  return {};
}

/// Says which sizes have no end, with which memory could be counted.
void note_memory_of_open_sizes(FunctionImport& import) {
  if (import.request.memory_limits.empty()) return;
  for (const OpenSize& size : import.graph().open_sizes)
    if (!size.range.has_end())
      import.size_notes.push_back(
          fmt::format("--memory counts '{0}' as {1}, as it may be any size: larger ones take more; give its "
                      "range an end with --shape, as in 1..32",
                      size.name, size.range.counted(size.tuned)));
}

}  // namespace

Status type_values(FunctionImport& import) {
  TRY(infer_all_types(import));
  tune_usual_sizes(import.problem.graph);
  note_memory_of_open_sizes(import);
  return {};
}

Status resolve_all_sequences(FunctionImport& import) {
  while (resolve_sequences(import.problem.graph)) TRY(infer_all_types(import));
  return {};
}

Status simplify_model(FunctionImport& import) {
  simplify_reshapes(import.problem.graph);
  return {};
}

Status remove_unneeded(FunctionImport& import) {
  remove_dead_nodes(import.problem.graph);
  note_quantization(import.problem.graph);
  return {};
}

Status check_shapes(const std::vector<ImportedFunction>& functions, const CompileRequest& request) {
  for (const auto& [name, shape] : request.shapes) {
    const bool is_known = std::ranges::any_of(functions, [&](const ImportedFunction& function) {
      return has_input(function.problem->graph, name);
    });
    if (!is_known)
      return fail("--shape {}: no function of the model has such an input; `intarsia explain` lists them",
                  name);
  }
  for (const TunedSizes& tuned : request.tune_at) {
    const bool is_known = std::ranges::any_of(functions, [&](const ImportedFunction& function) {
      return std::ranges::find(function.tuned_symbols, tuned.symbol) != function.tuned_symbols.end();
    });
    if (is_known) continue;
    std::vector<OpenSize> all;
    for (const ImportedFunction& function : functions)
      std::ranges::copy(function.problem->graph.open_sizes, std::back_inserter(all));
    return fail("{}", unknown_symbol(tuned.symbol, all));
  }
  return {};
}

}  // namespace intarsia
