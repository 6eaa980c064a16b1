// A runtime whose frames per second are measured.
#pragma once

#include "cli/commands/contender.h"

class ThroughputContender final : public Contender {
 public:
  /// Starts the process; a round takes about `round_seconds`.
  ThroughputContender(const std::string& runtime, double round_seconds);

  /// Returns [{"name","replicas"}] for a pipeline; null for others.
  const Json& stages() const { return stages_; }
  Json report() const override;

 private:
  void prepare_rounds(const Json& opened) override;
  Json round_request() const override { return {{"frames", frames_per_round_}}; }
  void add_round(const Json& answer, double cpu_seconds) override;

  double round_seconds_;
  Json stages_;
  size_t lanes_ = 1, frames_per_round_ = 0;
  Json best_;  // best round
};
