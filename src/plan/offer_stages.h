// Ways to divide a model into stages: how many, on which executors, and with how many replicas.
#pragma once

#include <optional>

#include "plan/stage_costs.h"

namespace intarsia {

struct OfferedStage {
  ExecutorGroup group;
  std::vector<uint32_t> slots;     // its executors: as many as it has replicas
  std::vector<uint32_t> segments;  // ascending
  double load = 0;                 // nanoseconds of a frame, of one in so many if there are replicas
};

struct StageOffer {
  std::vector<OfferedStage> stages;  // in an order in which values only flow forward
  double max_load = cannot_run;      // nanoseconds between two frames, as far as is predicted
  double lower_bound = 0;            // no division of these executors into such groups has less
  size_t manner = 0;                 // the caller's, who has several lists of executors
};

/// The best division (split_stages) for each way to hand out executors. Core sets that overlap exclude each
/// other, so that cores are handed out, too: of cpu:0, cpu:1 and cpu:0-1 either the first two work, or the
/// last. Executors of a kind are in groups of about the same size, so that whole-model replicas, stages of
/// one executor each, and stages with replicas are all among them. `memory`: the most that a stage may hold
/// (held_bytes) in each; infinity: no limit. `count`: exactly so many stages; nothing:
/// at most one a group. Error: with a count, why it cannot be.
///   two cores:  {both: replicas of the whole}, {one, one: two stages}
Result<std::vector<StageOffer>> offer_stages(const PlanningProblem& problem, const Placement& placement,
                                             const SegmentCosts& costs, const ExecutorKinds& kinds,
                                             const std::vector<double>& memory,
                                             std::optional<uint32_t> count);

/// The fastest; of those that are about as fast the one with the fewest stages.
const StageOffer& find_best_offer(const std::vector<StageOffer>& offers);

/// "2 stages: cpu:0 | cpu:1, cpu:2", "2 replicas of the whole: cpu:0, cpu:1", "the whole on cpu:0".
std::string describe_offer(const PlanningProblem& problem, const StageOffer& offer);

}  // namespace intarsia
