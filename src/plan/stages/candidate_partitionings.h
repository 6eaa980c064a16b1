// Ways to divide a model into stages: how many, on which executors, and with how many replicas.
#pragma once

#include <optional>

#include "plan/stages/stage_costs.h"

namespace intarsia {

struct CandidateStage {
  ExecutorTeam team;
  std::vector<uint32_t> slots;     // slots of its executors, in the order of the team's members
  std::vector<uint32_t> segments;  // ascending
  double load = 0;                 // nanoseconds between two frames
  double load_alone = 0;           // nanoseconds between two frames if the first executor were alone
};

struct Partitioning {
  std::vector<CandidateStage> stages;  // ordered so that values flow forward only
  double max_load = cannot_run;        // predicted nanoseconds between two frames
  double lower_bound = 0;              // lower bound on max_load of any division for these teams
  size_t policy = 0;                   // policy of the caller, which has several lists of executors
};

struct Partitionings {
  std::vector<Partitioning> list;
  double lower_bound = 0;  // lower bound on max_load of any division and teams, if memory is unlimited
};

/// Finds the best division (split_stages) for each way to hand out executors. Core sets that overlap exclude
/// each other, so that cores are handed out, too: of cpu:0, cpu:1 and cpu:0-1 either the first two work, or
/// the last. Executors that can take each other's frames are in teams of any size, unless there are too many
/// ways (list_teams.h), so that replicas of the whole model, stages of one executor each, and stages with
/// replicas are all among them. `memory` is indexed by memory space. `count` is the exact number of stages;
/// if nullopt, there is at most one per team. Error: with a count, why it is impossible.
///   two cores:  {both: replicas of the whole}, {one, one: two stages}
Result<Partitionings> find_partitionings(const PlanningProblem& problem, const Placement& placement,
                                         const SegmentCosts& costs, const ExecutorKinds& kinds,
                                         const std::vector<StageMemory>& memory,
                                         std::optional<uint32_t> count);

/// Returns the nanoseconds between two frames that no division is below, whatever the teams (divided_load).
double bound_executors(const PlanningProblem& problem, const Placement& placement, const SegmentCosts& costs,
                       const ExecutorKinds& kinds);

/// Finds the fastest division; among those that are about as fast, the one with the fewest stages.
const Partitioning& find_best_partitioning(const std::vector<Partitioning>& candidates);

/// Returns "2 stages: cpu:0 | cpu:1, cpu:2", "2 replicas of the whole: cpu:0, cpu:1", "the whole on cpu:0".
std::string describe_partitioning(const PlanningProblem& problem, const Partitioning& candidate);

}  // namespace intarsia
