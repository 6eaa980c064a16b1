#include "compile/pass_runner.h"

#include <algorithm>

#include "compile/compile_model.h"
#include "graph/verify_graph.h"

namespace intarsia {

Status check_not_cancelled(const BackendRegistry& tools) {
  return tools.is_cancelled && tools.is_cancelled() ? fail(ErrorKind::cancelled, "interrupted") : Status();
}

PassRunner::PassRunner(const CompileRequest& request, const BackendRegistry& tools, Progress progress)
    : request_(request), tools_(tools), progress_(std::move(progress)) {
  progress_.expect(static_cast<double>(pass_names().size()));
}

PassRunner PassRunner::quiet(const CompileRequest& request, const BackendRegistry& tools) {
  PassRunner runner(request, tools, {});
  runner.quiet_ = true;
  return runner;
}

Status PassRunner::finish(const std::string& name, const Graph& graph) {
  TRY(with_kind(ErrorKind::internal, with_context(verify_graph(graph), "internal error: after {}", name)));
  progress_.did(name);
  stopped_ = !quiet_ && request_.stop_after == name;
  return {};
}

bool PassRunner::is_printed(const std::string& name) const {
  return !quiet_ && tools_.print &&
         std::ranges::find(request_.print_after, name) != request_.print_after.end();
}

void PassRunner::print(const std::string& name, const std::string& text) const {
  tools_.print(fmt::format("# after {}\n{}\n", name, text));
}

}  // namespace intarsia
