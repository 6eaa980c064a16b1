// Programs that are timed against each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/executable.h"
#include "plan/plan.h"
#include "runtime/session.h"

namespace intarsia {

/// Benchmark subject: a program with one function, bound to devices here, with everything that a run needs.
class BenchmarkSubject {
 public:
  /// Opens a program and fills its inputs: floats and integers as fill_tensor() does, strings with short
  /// words. Errors: an input has no fixed shape, or is not a tensor.
  static Result<BenchmarkSubject> open(const std::string& path, std::span<const RunBackend> backends,
                                       int threads);

  /// Makes the first runs; whatever fails, fails here.
  Status warm_up();
  /// Makes several runs of a fast program. The first finds the caches as the others left them; if there is
  /// only one, the traced run precedes it.
  Status take_turn();
  /// Times kernels in a run of their own, as frameworks run separately for their profile.
  Status profile();
  /// Returns the times of all turns so far. `is_disturbed`: others took cores in each of them.
  PlanTimes times(bool is_disturbed) const;

  int64_t least() const;                  // nanoseconds of the fastest run of all turns
  int64_t once() const { return once_; }  // nanoseconds of the warm run
  int64_t turn_takes() const { return (runs_a_turn_ + 1) * once_; }

  std::vector<NamedValue> inputs() const;
  /// Returns the outputs of a run on these inputs, copied, without those that are not tensors.
  Result<std::vector<NamedValue>> compute(const std::vector<NamedValue>& inputs);

 private:
  explicit BenchmarkSubject(Session session) : session_(std::move(session)) {}

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
  std::vector<std::vector<int64_t>> regions_;  // nanoseconds of each traced run, by region
  std::vector<KernelTime> kernels_;            // kernels of the profiled run
};

}  // namespace intarsia
