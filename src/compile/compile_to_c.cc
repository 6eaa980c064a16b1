#include "compile/compile_to_c.h"

namespace intarsia {
namespace {

/// Returns the request for an ordinary program that is only run.
CompileRequest request_to_run(CompileRequest request, const std::string& path) {
  request.plain_c.reset();
  request.program_path = path;
  request.cpu = "native";
  request.tune = Tune::off;
  request.print_after.clear();
  request.saved_plan_path.clear();
  request.memory_limits.clear();
  return request;
}

}  // namespace

Result<CompileResult> compile_to_c(const CompileRequest& request, const CompileServices& services,
                                   const Compile& compile) {
  if (request.dry_run || !request.stop_after.empty() || !services.measuring.record_runs)
    return compile(request);
  services.observer.progress.expect(1);
  const TemporaryFile program = TRY(TemporaryFile::make("intarsia-recorded"));
  TRY(compile(request_to_run(request, program.path())));
  CompileRequest emitting = request;
  emitting.recorded = TRY(services.measuring.record_runs(program.path(), request));
  return compile(emitting);
}

}  // namespace intarsia
