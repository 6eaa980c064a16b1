// Choice of how a model is divided into stages, corrected by the times of its stages.
#pragma once

#include "plan/stages/candidate_partitionings.h"
#include "plan/stages/staged_plan.h"

namespace intarsia {

/// Planner of stages: cuts where the times of segments say, and again where they were wrong, or memory is too
/// small.
class StagePlanner {
 public:
  /// Refers to its arguments, which outlive it. `placed`: where the whole model runs best.
  StagePlanner(const PlanningProblem& problem, const Placement& placed, const SegmentCosts& costs,
               const PlanTools& tools);

  /// Plans `count` stages; if nullopt, as many as are best. Error: there is no such plan.
  Result<StagedPlan> plan(std::optional<uint32_t> count);

 private:
  Result<StagedPlan> plan_once(std::optional<uint32_t> count);
  Result<std::optional<StagedPlan>> plan_within_limits(std::optional<uint32_t> count);
  Result<bool> hold_less(const StagedPlan& staged);
  Result<Partitionings> find_candidates(std::optional<uint32_t> count) const;
  Result<StagedPlan> realize(const Partitioning& candidate) const;
  Result<StagedPlan> pursue(Partitioning candidate, std::optional<uint32_t> count);
  double time_of(const CandidateStage& stage, size_t policy) const;
  void correct(const Partitioning& candidate, const StagedPlan& staged);
  Status nudge(std::optional<uint32_t> count, Partitioning& best_candidate, StagedPlan& best);

  const PlanningProblem& problem_;
  const Placement& placed_;
  const SegmentCosts& costs_;
  const PlanTools& tools_;
  const std::vector<ExecutorKinds> as_timed_;  // indexed by policy
  std::vector<ExecutorKinds> corrected_;
  const double least_;               // nanoseconds between two frames that no plan is below, by these times
  std::vector<StageMemory> memory_;  // indexed by memory space
};

}  // namespace intarsia
