#include "compile/compile_plan.h"

#include "plan/partition/describe_plan.h"

namespace intarsia {
namespace {

/// Compiles the alternatives; those that do not compile are left out, with a note.
Status compile_alternatives(PlanCompilation& compilation) {
  CompiledFunction& function = compilation.function;
  std::vector<AlternativePlan> compiled;
  for (AlternativePlan& alternative : function.chosen.alternatives) {
    Result<CompiledRegions> regions = compilation.compiler.compile(alternative.plan);
    TRY(check_not_cancelled(compilation.compiler.services().observer));
    if (!regions) {
      function.notes.push_back(fmt::format("the plan on {} is no alternative: {}",
                                           targets_of(*function.problem, alternative.plan.partition),
                                           regions.error().message));
      continue;
    }
    compiled.push_back(std::move(alternative));
    function.alternatives.push_back(std::move(*regions));
  }
  function.chosen.alternatives = std::move(compiled);
  return {};
}

/// Compiles the plans for ranges of sizes, which were compiled before, to be measured.
Status compile_specializations(PlanCompilation& compilation) {
  CompiledFunction& function = compilation.function;
  for (const SpecializedPlan& one : function.chosen.specializations)
    function.specializations.push_back(TRY(compilation.compiler.compile(one.plan)));
  return {};
}

}  // namespace

Status compile_regions(PlanCompilation& compilation) {
  CompiledFunction& function = compilation.function;
  function.regions = TRY(compilation.compiler.compile(function.chosen.plan));
  TRY(compile_alternatives(compilation));
  return compile_specializations(compilation);
}

Status verify_compiled(const PlanCompilation& compilation) {
  const CompiledFunction& function = compilation.function;
  const auto verify = [](const Plan& plan, const CompiledRegions& compiled) {
    const size_t regions = plan.partition.regions.size();
    return compiled.regions.size() == regions
               ? Status()
               : fail("{} of {} regions are compiled", compiled.regions.size(), regions);
  };
  TRY(verify(function.chosen.plan, function.regions));
  for (size_t i = 0; i < function.alternatives.size(); ++i)
    TRY(verify(function.chosen.alternatives[i].plan, function.alternatives[i]));
  for (size_t i = 0; i < function.specializations.size(); ++i)
    TRY(verify(function.chosen.specializations[i].plan, function.specializations[i]));
  return {};
}

std::string describe_compiled(const PlanCompilation& compilation) {
  const CompiledFunction& function = compilation.function;
  const std::vector<Region>& regions = function.chosen.plan.partition.regions;
  std::string text;
  for (size_t r = 0; r < regions.size(); ++r) {
    const CompiledRegion& compiled = function.regions.regions[r];
    uint64_t constants = 0;
    for (const Tensor& constant : compiled.constants) constants += constant.bytes();
    text += fmt::format("region {} {}: {} kernel{}, {} bytes of constants, {} of workspace\n", r,
                        function.problem->targets[regions[r].target].name, compiled.kernels,
                        compiled.kernels == 1 ? "" : "s", constants, compiled.workspace_bytes);
  }
  return text;
}

}  // namespace intarsia
