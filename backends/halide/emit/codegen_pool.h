// Worker processes that make code. LLVM can neither be stopped nor survived in a thread: what it does there,
// it does to a process that can be killed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/halide/emit/kernel_message.h"
#include "base/progress.h"

namespace intarsia::halide {

/// What became of a request.
struct CodegenOutcome {
  enum class Kind {
    made,
    given_up  // it took too much time, or its worker died
  };
  Kind kind = Kind::given_up;
  EmittedKernel kernel;      // made
  std::string why;           // given_up
  bool out_of_time = false;  // given_up, as it would be again
  double cpu_seconds = 0;
};

class CodegenWorker;

/// Starts a worker for each core when it is first used; all are gone with it. Used by one thread.
class CodegenPool {
 public:
  CodegenPool();
  ~CodegenPool();
  CodegenPool(const CodegenPool&) = delete;
  CodegenPool& operator=(const CodegenPool&) = delete;

  /// Starts the workers, so that they are ready when the first request comes. Error: they cannot be started.
  Status start();

  struct Watch {
    std::function<bool()> is_cancelled;  // asked several times a second; may be empty
    Progress progress;                   // a unit a request
  };
  /// One outcome a request, in order. Errors: a kernel is not valid (a fault of ours), or it was cancelled.
  Result<std::vector<CodegenOutcome>> run(const std::vector<CodegenRequest>& requests, const Watch& watch);

 private:
  std::vector<std::unique_ptr<CodegenWorker>> workers_;
};

}  // namespace intarsia::halide
