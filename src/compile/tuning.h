// One compile's measuring of kernels: the database of times, the limit of time, what to report.
#pragma once

#include <chrono>

#include "compile/compile_request.h"
#include "target/tuner.h"

namespace intarsia {

class Tuning {
 public:
  Tuning(const CompileRequest& request, const BackendRegistry& tools);
  Tuning(const Tuning&) = delete;
  Tuning& operator=(const Tuning&) = delete;

  /// For the backend of this name; null where kernels are chosen analytically.
  Tuner* tuner_for(const std::string& backend);
  /// Why nothing is measured; empty: it is.
  const std::string& disabled_reason() const { return disabled_reason_; }
  /// Null where nothing is measured.
  CostTable* costs() { return costs_ ? &*costs_ : nullptr; }
  /// Nanoseconds of the probe, which is measured when it is first needed.
  int64_t probe();
  /// Is there time left to measure?
  bool may_go_on() const { return disabled_reason_.empty() && tuner_.may_go_on(); }
  /// For the report.
  TuningReport report() const;

 private:
  const CompileRequest& request_;
  const BackendRegistry& tools_;
  std::chrono::steady_clock::time_point start_;
  std::string disabled_reason_;
  std::optional<CostTable> costs_;
  std::optional<int64_t> probe_;
  Tuner tuner_;
};

}  // namespace intarsia
