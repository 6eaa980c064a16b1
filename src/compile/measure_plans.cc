#include "compile/measure_plans.h"

#include "base/cpu_level.h"
#include "compile/emit_program.h"

namespace intarsia {
namespace {

Result<TemporaryFile> write_plan(CompiledPlan plan, const CompileRequest& request) {
  TemporaryFile file = TRY(TemporaryFile::make("intarsia-plan"));
  CompileRequest to_file = request;
  to_file.program_path = file.path();
  to_file.dry_run = false;
  std::vector<CompiledPlan> functions;
  functions.push_back(std::move(plan));
  TRY(emit_program(functions, to_file));
  return file;
}

/// What fails here (a full disk) says nothing of a plan. Files exist for as short a time as can be: no plan
/// is compiled after the first is written.
Result<std::vector<TemporaryFile>> write_plans(const std::vector<Result<CompiledPlan>>& compiled,
                                               const CompileRequest& request) {
  std::vector<TemporaryFile> files;
  for (const Result<CompiledPlan>& one : compiled) {
    if (one) files.push_back(TRY(write_plan(*one, request)));
  }
  return files;
}

}  // namespace

Result<std::vector<Result<PlanTimes>>> measure_plans(const std::vector<const CompileResult*>& plans,
                                                     RegionCompiler& compiler, const CompileRequest& request,
                                                     const Toolbox& tools) {
  std::vector<Result<CompiledPlan>> compiled;
  for (const CompileResult* plan : plans) {
    CompileResult copy = *plan;
    Result<CompiledRegions> regions = compiler.compile(copy);
    compiled.push_back(regions ? Result<CompiledPlan>({std::move(copy), std::move(*regions)})
                               : tl::unexpected(regions.error()));
  }
  // What is interrupted says nothing of a plan.
  TRY(check_not_cancelled(tools));
  const auto may_go_on = [&] { return compiler.tuning().may_go_on(); };
  if (!may_go_on()) return fail("the time to measure is over (--tune-seconds)");
  std::vector<TemporaryFile> files = TRY(write_plans(compiled, request));
  if (tools.progress) tools.progress("compare_plans", 0, 1);
  std::vector<Result<PlanTimes>> timed = tools.time_programs(std::move(files), request.threads, may_go_on);
  if (tools.progress) tools.progress("compare_plans", 1, 1);
  std::vector<Result<PlanTimes>> results;
  auto next = timed.begin();
  for (const Result<CompiledPlan>& one : compiled)
    results.push_back(one ? std::move(*next++) : Result<PlanTimes>(tl::unexpected(one.error())));
  return results;
}

std::string why_plans_are_not_measured(RegionCompiler& compiler, const CompileRequest& request,
                                       const Toolbox& tools) {
  if (request.keep_placement) return "the placement is to be kept";
  if (!compiler.tuning().why_off().empty()) return compiler.tuning().why_off();
  return tools.time_programs ? "" : "nothing here can measure";
}

std::string plan_conditions(const CompileRequest& request) {
  const Result<std::string> cpu = resolve_cpu_level(request.cpu);
  return fmt::format("intarsia {}, {}, {} threads, {} math, tune {}", INTARSIA_VERSION,
                     cpu ? *cpu : request.cpu, request.threads, request.exact_math ? "exact" : "fast",
                     static_cast<int>(request.tune));
}

}  // namespace intarsia
