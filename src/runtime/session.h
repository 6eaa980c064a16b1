// Runs a bound program: its own buffers, prepared steps, threads.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bind_program.h"
#include "runtime/named_tensor.h"
#include "runtime/trace_event.h"

namespace intarsia {

class PreparedFunction;

/// Called after each step with every value that it wrote, as a tensor in host memory.
using DumpHook = std::function<void(const std::string& value, const TensorView& tensor)>;

/// All state of runs: one run at a time. Sessions of one program may run at once, each in its thread.
/// Move-only.
class Session {
 public:
  /// Fails when memory or threads cannot be allocated.
  static Result<Session> create(std::shared_ptr<const BoundProgram> program);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Runs `function` (empty: the only one). Every input must be there; outputs that are not requested are
  /// computed and dropped. Inputs and outputs must not overlap. Allocates nothing and takes no lock when no
  /// value is dynamic, the outputs have memory, buffers are aligned to their element size, and all steps run
  /// on one executor. Errors name the argument, or the region and its source nodes; the outputs' contents are
  /// then undefined.
  Status run(std::string_view function, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs);

  /// For --dump: an empty function turns it off. With it, steps run one after the other.
  void set_dump(DumpHook dump);

  /// For --trace: an empty function turns it off. With `is_profile` regions of a framework report their
  /// operators, too: the framework runs them apart for that, and events of kind "kernel" have only a length.
  void set_trace(const TraceCallback& trace, bool is_profile = false);
  /// What was set last, without `is_profile`.
  const TraceCallback& trace() const { return trace_; }

  const BoundProgram& program() const { return *program_; }
  /// Working memory, by space; that of a space which is not used here is empty.
  std::span<const Memory> arenas() const { return arenas_; }
  /// What a slot is bound to, by number.
  Executor& executor(size_t slot) const { return *program_->executors[slot]; }

 private:
  Session();
  static Result<Session> prepare(std::shared_ptr<const BoundProgram> program);
  std::shared_ptr<const BoundProgram> program_;
  std::vector<Memory> arenas_;  // one per space, shared by all functions
  std::vector<std::unique_ptr<PreparedFunction>> functions_;
  TraceCallback trace_;
};

}  // namespace intarsia
