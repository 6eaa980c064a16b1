#include "compile/emit_functions.h"

#include <numeric>

#include "base/cpu_level.h"
#include "compile/emit_program.h"
#include "compile/program_memory.h"
#include "plan/choose/fit_memory.h"
#include "plan/choose/plan_file.h"

namespace intarsia {
namespace {

/// Returns the parts of what ships; plain C has the plan alone.
FunctionParts parts_of(const CompiledFunction& function, bool is_plain_c) {
  const ChosenPlan& chosen = function.chosen;
  FunctionParts parts{function.name,    *function.problem, chosen.plan,
                      function.regions, chosen.measured,   chosen.regions};
  if (is_plain_c) return parts;
  for (size_t i = 0; i < function.alternatives.size(); ++i) {
    const AlternativePlan& other = chosen.alternatives[i];
    parts.alternatives.push_back(
        {function.name, *function.problem, other.plan, function.alternatives[i], other.measured, {}});
  }
  for (size_t i = 0; i < function.specializations.size(); ++i) {
    const SpecializedPlan& one = chosen.specializations[i];
    parts.specializations.push_back(
        {function.name, *one.problem, one.plan, function.specializations[i], one.measured, {}});
    parts.specializations.back().range = {one.symbol, one.min, one.max};
  }
  parts.stages = chosen.stages;
  parts.notes = function.all_notes();
  return parts;
}

Status write_plans(const Emission& emission) {
  if (emission.request.saved_plan_path.empty()) return {};
  std::map<std::string, SavedPlan> plans;
  for (const CompiledFunction& function : emission.functions) {
    const ChosenPlan& chosen = function.chosen;
    plans[function.name] =
        save_plan(*function.problem, chosen.plan.placement, chosen.measured, chosen.stages);
    const Graph& graph = function.problem->graph;
    if (!graph.open_sizes.empty() || !function.bindings.empty())
      plans[function.name].shapes = save_shapes(graph);
  }
  return write_plan_file(emission.request.saved_plan_path, plans);
}

/// Measures each function on its own for the report, and checks the limits for all functions together.
Status measure_functions(const fbs::ProgramT& program, Emission& emission) {
  std::vector<CompiledFunction>& functions = emission.functions;
  for (size_t i = 0; i < functions.size(); ++i) {
    const fbs::FunctionT& described = *program.functions[i];
    functions[i].memory = measure_memory(program, described);
    describe_only_region(*functions[i].problem, functions[i].chosen.plan.partition, functions[i].regions,
                         functions[i].memory);
    const std::vector<uint64_t> arenas = arena_bytes(program, described);
    functions[i].arena_bytes = std::reduce(arenas.begin(), arenas.end(), uint64_t{0});
  }
  std::vector<MemoryUse> uses = measure_memory(program);
  if (emission.request.plain_c) leave_out_constants(uses);
  return check_memory(*functions[0].problem, uses);
}

/// Finds what plain C takes, and writes it.
Status emit_plain_c(const DescribedProgram& program, Emission& emission) {
  const CompileRequest& request = emission.request;
  const EmittedProgram emitted{program.description, program.constants, program.calls, program.objects};
  const std::string& path = request.program_path;
  emission.plain_c = TRY(plan_emission(emitted, path, *request.plain_c));
  if (request.dry_run) return {};
  return emit_c(emitted, *emission.plain_c, path, TRY(resolve_cpu(request.cpu)).arch, *request.plain_c,
                request.recorded);
}

}  // namespace

Status emit_functions(Emission& emission) {
  std::vector<FunctionParts> parts;
  for (const CompiledFunction& function : emission.functions)
    parts.push_back(parts_of(function, emission.request.plain_c.has_value()));
  DescribedProgram program = TRY(describe_program(parts, emission.request));
  TRY(measure_functions(program.description, emission));
  emission.constants_bytes = program.constants_bytes();
  if (!emission.request.stop_after.empty()) return {};
  if (emission.request.plain_c)
    TRY(emit_plain_c(program, emission));
  else if (!emission.request.dry_run)
    emission.size = TRY(write_described(std::move(program), emission.request));
  return write_plans(emission);
}

std::string describe_emission(const Emission& emission) {
  std::string text = fmt::format("{} bytes of constants\n", emission.constants_bytes);
  for (const CompiledFunction& function : emission.functions)
    text += fmt::format("{}: {} bytes of arenas\n", function.name, function.arena_bytes);
  return text;
}

}  // namespace intarsia
