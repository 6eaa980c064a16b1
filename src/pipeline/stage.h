// Stages, which a pipeline passes frames through.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core_set.h"
#include "runtime/named_tensor.h"
#include "runtime/trace_event.h"

namespace intarsia {

/// Input or output of a stage. Whoever reads the value checks what is unknown here.
struct StagePort {
  std::string name;
  DType dtype = DType::undefined;  // undefined: any
  std::optional<Shape> shape;      // nullopt: any shape of any rank; -1: any size
  Shape tuned_shape = {};          // shape of an input that the program was measured with; empty: `shape`
  bool operator==(const StagePort&) const = default;
};

/// Callback for a stage's steps within a frame. The event's texts are valid during the call; calls may come
/// from several threads at once.
using StageTrace = std::function<void(uint64_t frame, const TraceEvent&)>;

/// Stage of a pipeline, which runs one frame at a time.
class Stage {
 public:
  virtual ~Stage() = default;

  virtual std::span<const StagePort> inputs() const = 0;
  virtual std::span<const StagePort> outputs() const = 0;
  /// Returns the cores that its thread is pinned to; nullopt if it runs wherever its maker may.
  virtual std::optional<CoreSet> cores() const { return std::nullopt; }
  /// Sets the trace of stages that report steps within a frame. Called before the first run.
  virtual void set_trace(StageTrace) {}
  /// Returns why the stage cannot run before recover() has worked. Called before the first run.
  virtual Status status() const { return {}; }
  /// Returns how the stage runs, where that is not what was asked for; empty otherwise. Not called during
  /// run() or recover().
  virtual std::string_view note() const { return {}; }
  /// Returns whether a frame that failed may run again, on another replica.
  virtual bool may_repeat() const { return true; }
  /// Rebuilds what the stage needs, after run() failed and the stage was left alone for a while. It runs no
  /// frame until this succeeds.
  virtual Status recover() { return {}; }
  /// Runs a frame; `inputs` and `outputs` match the ports. An output has memory where its port's dtype and
  /// shape are known, strings excepted; elsewhere the stage gives it dtype, shape, data, and an owner that
  /// keeps these alive. The memory of inputs is read-only.
  virtual Status run(uint64_t frame, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) = 0;
};

}  // namespace intarsia
