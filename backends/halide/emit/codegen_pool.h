// Worker processes that generate code. LLVM can neither be stopped nor survived in a thread, but a process
// can be killed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/halide/emit/kernel_message.h"
#include "base/progress.h"

namespace intarsia::halide {

/// Outcome of a request.
struct CodegenOutcome {
  enum class Kind {
    made,
    given_up  // generation took too long, or its worker died
  };
  Kind kind = Kind::given_up;
  EmittedKernel kernel;      // set if made
  std::string why;           // reason, set if given_up
  bool out_of_time = false;  // set if given_up for lack of time, and would be again
  double cpu_seconds = 0;
};

class CodegenWorker;

/// Pool that starts a worker for each core when first used; they end with it. Used by one thread.
class CodegenPool {
 public:
  CodegenPool();
  ~CodegenPool();
  CodegenPool(const CodegenPool&) = delete;
  CodegenPool& operator=(const CodegenPool&) = delete;

  /// Starts the workers, so that they are ready for the first request. Error: they cannot be started.
  Status start();

  struct Watch {
    std::function<bool()> is_cancelled;  // polled several times a second; may be empty
    Progress progress;                   // one unit per request
  };
  /// Returns one outcome per request, in order. Errors: a kernel is not valid (a bug of ours), or it was
  /// cancelled.
  Result<std::vector<CodegenOutcome>> run(const std::vector<CodegenRequest>& requests, const Watch& watch);

 private:
  std::vector<std::unique_ptr<CodegenWorker>> workers_;
};

}  // namespace intarsia::halide
