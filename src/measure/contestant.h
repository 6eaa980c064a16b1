// A program that is timed against others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/executable.h"
#include "plan/plan.h"
#include "runtime/session.h"

namespace intarsia {

/// A program with one function, bound to devices of this machine, with everything that a run needs.
class Contestant {
 public:
  /// Inputs are filled: floats and integers as fill_tensor does, strings with short words. Error: an input
  /// has no fixed shape, or is not a tensor.
  static Result<Contestant> open(const std::string& path, std::span<const RunBackend> backends, int threads);

  /// The first runs: what fails, fails here.
  Status warm_up();
  /// Several runs of a fast program. The first finds the caches as the others left them; if there is only
  /// one, the traced run goes before it.
  Status take_turn();
  /// Times of kernels are from other runs: frameworks run apart for their profile.
  Status profile();
  /// Of all turns so far. `is_disturbed`: others took cores in each of them.
  PlanTimes times(bool is_disturbed) const;

  int64_t least() const;                  // nanoseconds of the fastest run of all turns
  int64_t once() const { return once_; }  // nanoseconds of the warm run
  int64_t turn_takes() const { return (runs_a_turn_ + 1) * once_; }

  std::vector<NamedValue> inputs() const;
  /// The outputs of a run on these inputs, copied, without those that are not tensors.
  Result<std::vector<NamedValue>> compute(const std::vector<NamedValue>& inputs);

 private:
  explicit Contestant(Session session) : session_(std::move(session)) {}

  const fbs::FunctionT& function() const { return *session_.program().description().functions[0]; }
  Status make_inputs();
  void make_outputs();
  TensorView memory_of(size_t output) const;
  Result<int64_t> run();  // nanoseconds
  Status run_traced();

  Session session_;
  std::vector<Tensor> input_memory_;
  std::vector<std::optional<Tensor>> output_memory_;
  std::vector<NamedTensor> inputs_, outputs_;
  int64_t once_ = 1, runs_a_turn_ = 1;
  std::vector<int64_t> whole_;                 // nanoseconds of each run
  std::vector<std::vector<int64_t>> regions_;  // the same of each region, in a traced run
  std::vector<KernelTime> kernels_;            // of the profiled run
};

}  // namespace intarsia
