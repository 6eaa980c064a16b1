// A runtime whose single runs are timed.
#pragma once

#include "cli/commands/contender.h"

class LatencyContender final : public Contender {
 public:
  /// Starts the process; `configuration` may be empty.
  LatencyContender(const std::string& runtime, const std::string& configuration);

  /// Returns what a run of a program spends its time on, from separate runs; null for other runtimes.
  Json profile() { return ask({{"profile", true}}); }
  /// Returns the alternative of a program that runs (docs/json.md); null for other runtimes.
  const Json& alternative() const { return alternative_; }
  Json report() const override;

 private:
  void prepare_rounds(const Json& opened) override;
  Json round_request() const override { return {{"runs", runs_per_round_}}; }
  void add_round(const Json& answer, double cpu_seconds) override;

  Json alternative_;
  size_t runs_per_round_ = 0;
  double cpu_seconds_ = 0;
  std::vector<double> milliseconds_;  // times of all runs that count
};
