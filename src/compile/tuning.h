// One compile's measuring of kernels: the database of times, the limit of time, what to report.
#pragma once

#include <chrono>

#include "compile/compile_request.h"
#include "target/tuner.h"

namespace intarsia {

class Tuning {
 public:
  Tuning(const CompileRequest& request, const Toolbox& tools);
  Tuning(const Tuning&) = delete;
  Tuning& operator=(const Tuning&) = delete;

  /// For the backend of this name; null where kernels are chosen analytically.
  Tuner* tuner_for(const std::string& backend);
  /// Why nothing is measured; empty: it is.
  const std::string& why_off() const { return why_off_; }
  /// Null where nothing is measured.
  CostDatabase* costs() { return costs_ ? &*costs_ : nullptr; }
  /// Is there time left to measure?
  bool may_go_on() const { return why_off_.empty() && tuner_.may_go_on(); }
  /// For the report.
  TuningReport report() const;

 private:
  const CompileRequest& request_;
  const Toolbox& tools_;
  std::chrono::steady_clock::time_point start_;
  std::string why_off_;
  std::optional<CostDatabase> costs_;
  Tuner tuner_;
};

}  // namespace intarsia
