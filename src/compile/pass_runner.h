// Running of passes: each is reported as progress, verified, and printed on demand.
#pragma once

#include <string>

#include "compile/compile_request.h"
#include "graph/graph.h"

namespace intarsia {

class PassRunner {
 public:
  PassRunner(const CompileRequest& request, const BackendRegistry& tools, Progress progress);
  /// Creates a runner that verifies, but reports and prints nothing and never stops: for plans that are
  /// tried.
  static PassRunner quiet(const CompileRequest& request, const BackendRegistry& tools);

  /// Runs `pass` (a callable that returns Status), then verifies the graph, then prints `describe()` if asked
  /// to. After the pass named by stop_after, stopped() is true and no further pass runs.
  template <typename Pass, typename Describe>
  Status run(const std::string& name, const Graph& graph, Pass pass, Describe describe) {
    if (stopped_) return {};
    TRY(check_not_cancelled(tools_));
    progress_.begin(name);
    TRY(pass());
    TRY(finish(name, graph));
    if (is_printed(name)) print(name, describe());
    return {};
  }

  bool stopped() const { return stopped_; }

 private:
  Status finish(const std::string& name, const Graph& graph);
  bool is_printed(const std::string& name) const;
  void print(const std::string& name, const std::string& text) const;

  const CompileRequest& request_;
  const BackendRegistry& tools_;
  const Progress progress_;
  bool quiet_ = false;
  bool stopped_ = false;
};

}  // namespace intarsia
