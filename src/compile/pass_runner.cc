#include "compile/pass_runner.h"

#include <algorithm>

#include "compile/compile_model.h"
#include "graph/verify_graph.h"

namespace intarsia {

Status check_not_cancelled(const Toolbox& tools) {
  return tools.is_cancelled && tools.is_cancelled() ? fail("interrupted") : Status();
}

void PassRunner::report(const std::string& name) {
  if (tools_.progress && !quiet_) tools_.progress(name, passes_done_, static_cast<int>(pass_names().size()));
  ++passes_done_;
}

Status PassRunner::finish(const std::string& name, const Graph& graph, const std::string& text) {
  TRY(with_context(verify_graph(graph), "internal error: after {}", name));
  if (quiet_) return {};
  if (tools_.print && std::ranges::find(request_.print_after, name) != request_.print_after.end()) {
    tools_.print(fmt::format("# after {}\n{}\n", name, text));
  }
  stopped_ = request_.stop_after == name;
  return {};
}

}  // namespace intarsia
