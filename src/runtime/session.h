// Sessions, which run a bound program with their own buffers, prepared steps and threads.
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

class OpenArenas;
class SpecializedFunction;

/// Hook called after each step with every value that it wrote, as a tensor in host memory.
using DumpHook = std::function<void(const std::string& value, const TensorView& tensor)>;

/// State of runs of a program: one run at a time. Sessions of one program may run at once, each in its own
/// thread. Move-only.
class Session {
 public:
  /// Creates a session. Errors: memory or threads cannot be allocated.
  static Result<Session> create(std::shared_ptr<const BoundProgram> program,
                                const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Runs `function` (empty: the only one). Every input must be given; outputs that are not requested are
  /// computed and dropped. Inputs and outputs must not overlap, except as SessionOptions::append_in_place
  /// says. Allocates nothing and takes no lock when no value is dynamic, the outputs have memory, buffers are
  /// aligned to their element size, and all steps run on one executor. Errors name the argument, or the
  /// region and its source nodes; the outputs' contents are then undefined.
  Status run(std::string_view function, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs);

  /// Sets the hook of --dump; an empty function turns it off. With it, steps run one after the other.
  void set_dump(const DumpHook& dump);
  /// Returns the hook that was set last.
  const DumpHook& dump() const { return dump_; }

  /// Sets the callback of --trace; an empty function turns it off. With `is_profile` regions of a framework
  /// report their operators, too: it runs them separately for that, and "kernel" events have only a length.
  void set_trace(const TraceCallback& trace, bool is_profile = false);
  /// Returns the callback that was set last, without `is_profile`.
  const TraceCallback& trace() const { return trace_; }

  const BoundProgram& program() const { return *program_; }
  const std::shared_ptr<const BoundProgram>& shared_program() const { return program_; }
  /// Returns the working memory, by space; empty for a space that is not used here.
  std::span<const Memory> arenas() const { return arenas_; }
  /// Returns the bytes of working memory that it has now in all spaces together, of open sizes too.
  uint64_t arena_bytes() const;
  /// Returns the executor that a slot, given by number, is bound to.
  Executor& executor(size_t slot) const { return *program_->executors[slot]; }

 private:
  Session();
  static Result<Session> prepare(std::shared_ptr<const BoundProgram> program, const SessionOptions& options);
  std::shared_ptr<const BoundProgram> program_;
  std::vector<Memory> arenas_;  // one per space, shared by all functions
  std::unique_ptr<OpenArenas> open_arenas_;
  std::vector<std::unique_ptr<SpecializedFunction>> functions_;
  DumpHook dump_;
  TraceCallback trace_;
};

}  // namespace intarsia
