#include "measure/record_runs.h"

#include "measure/run_inputs.h"
#include "runtime/bind_program.h"
#include "runtime/session.h"

namespace intarsia {

Result<std::vector<RecordedRun>> record_runs(const std::string& program, const CompileRequest& request,
                                             std::span<const RunBackend> backends) {
  const auto loaded = TRY(load_program(program, backends));
  TRY(check_inputs(loaded->description(), request.inputs));
  Session session = TRY(Session::create(TRY(bind_program(loaded, BindOptions{.threads = request.threads}))));
  std::vector<RecordedRun> runs;
  for (const auto& function : loaded->description().functions) {
    RecordedRun run{function->name, TRY(complete_inputs(*function, request.inputs)), {}};
    run.outputs = TRY(run_on_inputs(session, *function, run.inputs));
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace intarsia
