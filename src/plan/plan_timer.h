// Times of plans: known from the database, or measured now.
#pragma once

#include <functional>
#include <optional>

#include "plan/plan.h"
#include "target/cost_database.h"

namespace intarsia {

/// Runs plans in turns; one result a plan (it may not run), or why none could be measured.
using MeasurePlans =
    std::function<Result<std::vector<Result<PlanTimes>>>(const std::vector<const Plan*>& plans)>;

class PlanTimer {
 public:
  /// `conditions`: what times depend on besides the plan: processor level, threads. `problem` and `costs`
  /// outlive this.
  PlanTimer(const PlanningProblem& problem, MeasurePlans measure, CostDatabase& costs, std::string conditions)
      : problem_(problem), measure_(std::move(measure)), costs_(costs), conditions_(std::move(conditions)) {}

  /// One entry a plan. What does not compile or run takes `never`, which is also kept. When the time of
  /// one of the plans is not known all are measured: times of different days do not compare. Error: nothing
  /// can be measured, or the first plan does not run; then nothing is kept.
  Result<std::vector<int64_t>> time_runs(const std::vector<const Plan*>& plans);
  /// The same of each region of each plan.
  Result<std::vector<std::vector<int64_t>>> time_regions(const std::vector<const Plan*>& plans);

  static constexpr int64_t never = INT64_MAX;

 private:
  /// Names of the rows of a plan: one for its runs, or one for each of its regions.
  using Rows = std::vector<std::string>;
  std::string key(const Plan& plan);
  Rows run_row(const Plan& plan) { return {key(plan) + "run"}; }
  Rows region_rows(const Plan& plan);
  /// The rows of all plans, or nothing when one is missing.
  std::optional<std::vector<std::vector<int64_t>>> recall(const std::vector<Rows>& rows);
  void keep(const Rows& rows, const std::vector<int64_t>& times);

  const PlanningProblem& problem_;
  MeasurePlans measure_;
  CostDatabase& costs_;
  const std::string conditions_;
  std::string graph_;  // digest of the graph that all plans are of; empty until it is needed
};

}  // namespace intarsia
