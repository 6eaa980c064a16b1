// Measuring of kernels in one compile: the database of times, the time budget, the report.
#pragma once

#include <chrono>

#include "compile/compile_request.h"
#include "target/tuner.h"

namespace intarsia {

class Tuning {
 public:
  Tuning(const CompileRequest& request, const CompileServices& services);
  Tuning(const Tuning&) = delete;
  Tuning& operator=(const Tuning&) = delete;

  /// Returns the tuner for the named backend; null if kernels are chosen analytically. It measures nothing
  /// where times are imported, or where kernels are taken to be timed elsewhere. The next call changes its
  /// backend.
  Tuner* tuner_for(const std::string& backend);
  /// Returns the reason that nothing is measured; empty if kernels are measured.
  const std::string& disabled_reason() const { return disabled_reason_; }
  /// Returns the cost table of this machine; null if nothing is measured.
  CostTable* costs() { return disabled_reason_.empty() ? &*costs_ : nullptr; }
  /// Returns the nanoseconds of the probe, which is measured when first needed.
  int64_t probe();
  /// Checks whether time is left to measure.
  bool may_go_on() const { return disabled_reason_.empty() && tuner_.may_go_on(); }
  /// Counts prices of boundaries that were measured while other processes took cores.
  void add_disturbed_boundaries(size_t prices) { disturbed_boundaries_ += static_cast<int>(prices); }
  /// Returns the counts for the report.
  TuningReport report() const;

 private:
  void measure_here();
  void take_kernels();
  void recall_imported();

  const CompileRequest& request_;
  const CompileServices& services_;
  std::chrono::steady_clock::time_point start_;
  std::string disabled_reason_;
  std::optional<CostTable> costs_;         // nullopt without a tuner
  std::optional<ImportedTimes> imported_;  // machine that the table is about, if that is not this one
  std::string warning_;                    // problem with a table that has no imported times
  std::optional<int64_t> probe_;
  Tuner tuner_;
  int disturbed_boundaries_ = 0;
};

}  // namespace intarsia
