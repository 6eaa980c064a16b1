// Branches and loops: steps that run functions of their own, their bodies.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/open_arenas.h"
#include "runtime/prepared_function.h"

namespace intarsia {

/// Body of a step, with memory of its own and the arguments that the step gives it.
class PreparedBody {
 public:
  /// Prepares a body, which outlives it and runs in the threads of `teams`. Errors: memory cannot be
  /// allocated.
  static Result<std::unique_ptr<PreparedBody>> make(const BoundProgram& program, const fbs::FunctionT& body,
                                                    const ThreadTeams& teams);

  /// Lets the body read a value.
  void give(size_t input, const ValueState& value);
  Status run() { return prepared_->run(inputs, outputs); }
  PreparedFunction& function() { return *prepared_; }

  std::vector<NamedTensor> inputs, outputs;  // arguments, in the order of the body's values

 private:
  explicit PreparedBody(const BoundProgram& program) : open_arenas_(program, 0) {}
  std::vector<Memory> arenas_;
  OpenArenas open_arenas_;
  std::unique_ptr<PreparedFunction> prepared_;
};

/// Branch or loop that is ready to run.
class BodyStep {
 public:
  virtual ~BodyStep() = default;
  /// Runs the step on the values of its function. Error: that of a body, or a value does not fit.
  virtual Status run() = 0;
  const std::vector<std::unique_ptr<PreparedBody>>& bodies() const { return bodies_; }

 protected:
  std::vector<std::unique_ptr<PreparedBody>> bodies_;
};

/// Prepares a verified step with bodies; everything given outlives it. Errors: memory cannot be allocated.
Result<std::unique_ptr<BodyStep>> prepare_body_step(const BoundProgram& program, const fbs::StepT& step,
                                                    std::span<ValueState> values, const ThreadTeams& teams);

}  // namespace intarsia
