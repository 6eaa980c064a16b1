// Chooses how a model is divided into stages, and corrects the choice by what its stages take.
#pragma once

#include "plan/offer_stages.h"
#include "plan/staged_plan.h"

namespace intarsia {

/// Cuts where the times of segments say, and again where they were wrong, or memory is too small.
class StagePlanner {
 public:
  /// All of it outlives this. `placed`: where the whole model runs best.
  StagePlanner(const PlanningProblem& problem, const Placement& placed, const SegmentCosts& costs,
               const PlanTools& tools);

  /// Of so many stages; nothing: as many as are best. Error: there is no such plan.
  Result<StagedPlan> plan(std::optional<uint32_t> count);

 private:
  Result<StagedPlan> plan_once(std::optional<uint32_t> count);
  Result<bool> hold_less(const Plan& plan);
  Result<std::vector<StageOffer>> make_offers(std::optional<uint32_t> count) const;
  Result<StagedPlan> realize(const StageOffer& offer) const;
  Result<StagedPlan> pursue(StageOffer offer, std::optional<uint32_t> count);
  double time_of(const OfferedStage& stage, size_t manner) const;
  void correct(const StageOffer& offer, const StagedPlan& staged);
  Status nudge(std::optional<uint32_t> count, StageOffer& best_offer, StagedPlan& best);

  const PlanningProblem& problem_;
  const Placement& placed_;
  const SegmentCosts& costs_;
  const PlanTools& tools_;
  const std::vector<ExecutorKinds> as_timed_;  // by manner
  std::vector<ExecutorKinds> corrected_;
  std::vector<double> may_hold_;  // by memory what a stage may hold (held_bytes)
};

}  // namespace intarsia
