// Passes as data, and their running: each pass is reported as progress, verified, and printed on demand.
#pragma once

#include <string>

#include "compile/compile_request.h"
#include "graph/graph.h"

namespace intarsia {

/// Pass over a state of the compile, which has a graph(). All functions are free of side effects on anything
/// else.
template <typename State>
struct Pass {
  const char* name;
  Status (*run)(State& state);
  Status (*verify)(const State& state);      // checks what verify_graph does not; may be null
  std::string (*print)(const State& state);  // text for print_after
};

class PassRunner {
 public:
  /// Refers to `request` and `services`, which outlive it.
  PassRunner(const CompileRequest& request, const CompileServices& services)
      : request_(request), services_(services) {}
  /// Returns a runner that verifies, but reports and prints nothing and never stops: for plans that are
  /// tried.
  PassRunner quiet() const;

  /// Runs the passes in order, up to the one named by stop_after: runs one, verifies the graph and the
  /// result, then prints it if asked to.
  template <typename State, size_t count>
  Status run(const Pass<State> (&passes)[count], State& state) {
    for (const Pass<State>& pass : passes) TRY(run(pass, state));
    return {};
  }

  /// Shows the next passes, as many as `count`, on a part of a bar.
  void show_on(Progress part, size_t count);
  /// Checks whether the pass runs, which those after stop_after do not.
  bool includes(const std::string& name) const;
  const CompileRequest& request() const { return request_; }
  const CompileServices& services() const { return services_; }

 private:
  template <typename State>
  Status run(const Pass<State>& pass, State& state) {
    if (!includes(pass.name)) return {};
    TRY(begin(pass.name));
    TRY(pass.run(state));
    TRY(verify(pass.name, state.graph(), pass.verify ? pass.verify(state) : Status()));
    progress_.did(pass.name);
    if (is_printed(pass.name)) print(pass.name, pass.print(state));
    return {};
  }

  Status begin(const std::string& name) const;
  static Status verify(const std::string& name, const Graph& graph, Status result);
  bool is_printed(const std::string& name) const;
  void print(const std::string& name, const std::string& text) const;

  const CompileRequest& request_;
  const CompileServices& services_;
  Progress progress_;
  bool is_quiet_ = false;
};

/// Checks that every step of a backend in print_after exists. Error: it names those that do.
Status check_steps_printed(const CompileRequest& request, const CompileServices& services);

}  // namespace intarsia
