#include "compile/measure_plans.h"

#include "base/cpu_level.h"
#include "compile/emit_program.h"

namespace intarsia {
namespace {

Result<TemporaryFile> write_plan(CompileResult& plan, const CompiledRegions& regions, const CompileRequest& request) {
  TemporaryFile file = TRY(TemporaryFile::make("intarsia-plan"));
  CompileRequest to_file = request;
  to_file.program_path = file.path();
  to_file.dry_run = false;
  TRY(emit_program(plan, regions, to_file));
  return file;
}

/// All are compiled before the first is written, so that files exist for as short a time as can be.
std::vector<Result<TemporaryFile>> write_plans(const std::vector<const CompileResult*>& plans, RegionCompiler& compiler,
                                               const CompileRequest& request) {
  std::vector<CompileResult> copies;
  std::vector<Result<CompiledRegions>> compiled;
  for (const CompileResult* plan : plans) {
    copies.push_back(*plan);
    compiled.push_back(compiler.compile(copies.back()));
  }
  std::vector<Result<TemporaryFile>> files;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!compiled[i]) {
      files.push_back(tl::unexpected(compiled[i].error()));
    } else if (!compiler.tuning().may_go_on()) {
      files.push_back(fail("the time to measure is over (--tune-seconds)"));
    } else {
      files.push_back(write_plan(copies[i], *compiled[i], request));
    }
  }
  return files;
}

}  // namespace

std::vector<Result<PlanTimes>> measure_plans(const std::vector<const CompileResult*>& plans, RegionCompiler& compiler,
                                             const CompileRequest& request, const Toolbox& tools) {
  std::vector<Result<TemporaryFile>> files = write_plans(plans, compiler, request);
  std::vector<TemporaryFile> written;
  for (Result<TemporaryFile>& file : files) {
    if (file) written.push_back(std::move(*file));
  }
  std::vector<Result<PlanTimes>> timed, results;
  if (tools.progress) tools.progress("compare_plans", 0, 1);
  if (!written.empty()) timed = tools.time_programs(std::move(written), request.threads);
  if (tools.progress) tools.progress("compare_plans", 1, 1);
  auto next = timed.begin();
  for (const Result<TemporaryFile>& file : files) {
    results.push_back(file ? std::move(*next++) : Result<PlanTimes>(tl::unexpected(file.error())));
  }
  return results;
}

std::string why_plans_are_not_measured(RegionCompiler& compiler, const CompileRequest& request, const Toolbox& tools) {
  if (request.keep_placement) return "the placement is to be kept";
  if (!compiler.tuning().why_off().empty()) return compiler.tuning().why_off();
  return tools.time_programs ? "" : "nothing here can measure";
}

std::string plan_conditions(const CompileRequest& request) {
  const Result<std::string> cpu = resolve_cpu_level(request.cpu);
  return fmt::format("intarsia {}, {}, {} threads, {} math, tune {}", INTARSIA_VERSION, cpu ? *cpu : request.cpu,
                     request.threads, request.exact_math ? "exact" : "fast", static_cast<int>(request.tune));
}

}  // namespace intarsia
