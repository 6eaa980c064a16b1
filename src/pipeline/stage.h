// What a pipeline passes frames through.
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

/// An input or output of a stage. What is not known is checked by whoever reads the value.
struct StagePort {
  std::string name;
  DType dtype = DType::undefined;  // undefined: any
  std::optional<Shape> shape;      // nothing: any, even the rank; -1: any size
  bool operator==(const StagePort&) const = default;
};

/// What a stage did within a frame. The event's texts are valid during the call, which may come from several
/// threads at once.
using StageTrace = std::function<void(uint64_t frame, const TraceEvent&)>;

/// One frame at a time, in a thread of its own.
class Stage {
 public:
  virtual ~Stage() = default;

  virtual std::span<const StagePort> inputs() const = 0;
  virtual std::span<const StagePort> outputs() const = 0;
  /// That its thread is held to; nothing: it runs wherever its maker may.
  virtual std::optional<CoreSet> cores() const { return std::nullopt; }
  /// Before the first run; for stages that have parts to tell of.
  virtual void set_trace(StageTrace) {}
  /// `inputs` and `outputs` are as the ports. An output has memory where its port's dtype and shape are
  /// known; elsewhere the stage gives it dtype, shape, data, and an owner that keeps these alive. The memory
  /// of inputs is only read.
  virtual Status run(uint64_t frame, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) = 0;
};

}  // namespace intarsia
