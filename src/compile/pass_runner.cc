#include "compile/pass_runner.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "compile/compile_model.h"
#include "graph/verify_graph.h"

namespace intarsia {

Status check_not_cancelled(const Observer& observer) {
  return observer.is_cancelled && observer.is_cancelled() ? fail(ErrorKind::cancelled, "interrupted")
                                                          : Status();
}

PassRunner PassRunner::quiet() const {
  PassRunner runner(request_, services_);
  runner.is_quiet_ = true;
  return runner;
}

void PassRunner::show_on(Progress part, size_t count) {
  progress_ = std::move(part);
  progress_.expect(static_cast<double>(count));
}

bool PassRunner::includes(const std::string& name) const {
  if (is_quiet_ || request_.stop_after.empty()) return true;
  const std::vector<std::string> names = pass_names();
  return std::ranges::find(names, name) <= std::ranges::find(names, request_.stop_after);
}

Status PassRunner::begin(const std::string& name) const {
  TRY(check_not_cancelled(services_.observer));
  progress_.begin(name);
  return {};
}

Status PassRunner::verify(const std::string& name, const Graph& graph, Status result) {
  const Status verified = result ? verify_graph(graph) : result;
  return with_kind(ErrorKind::internal, with_context(verified, "internal error: after {}", name));
}

bool PassRunner::is_printed(const std::string& name) const {
  return !is_quiet_ && services_.observer.print &&
         std::ranges::find(request_.print_after, name) != request_.print_after.end();
}

void PassRunner::print(const std::string& name, const std::string& text) const {
  services_.observer.print(fmt::format("# after {}\n{}\n", name, text));
}

Status check_steps_printed(const CompileRequest& request, const CompileServices& services) {
  std::vector<std::string> known;
  for (const auto& target : services.backends)
    for (const std::string& step : target->info().step_names)
      known.push_back(fmt::format("{}.{}", target->name(), step));
  for (const std::string& name : request.print_after)
    if (name.contains('.') && std::ranges::find(known, name) == known.end())
      return fail("--print-after {}: no such step; there are {}", name, fmt::join(known, ", "));
  return {};
}

}  // namespace intarsia
