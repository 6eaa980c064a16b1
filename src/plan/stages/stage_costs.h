// Nodes and executors of a stage problem, from the times of a model's parts.
#pragma once

#include "plan/planning_problem.h"
#include "plan/segment_costs.h"
#include "plan/stages/list_teams.h"
#include "plan/stages/stage_problem.h"

namespace intarsia {

/// Slots on which every segment takes the same time.
struct ExecutorKind {
  std::vector<uint32_t> slots;
  std::vector<double> times;              // nanoseconds by segment; infinity if it cannot run there
  std::vector<const Target*> backends{};  // backend that runs each segment there; null if none, or not known
};

using ExecutorKinds = std::vector<ExecutorKind>;

/// Returns the kind that has the slot.
const ExecutorKind& kind_of_slot(const ExecutorKinds& kinds, uint32_t slot);

/// Finds the kinds. Times of segments that are not known anywhere are estimated. On its slot a segment is run
/// by the backend that has it in `placement`, if its time there is known, else by the fastest; or all
/// segments by one backend, where that is faster: the best choice with other cores need not be the best with
/// these.
ExecutorKinds find_executor_kinds(const PlanningProblem& problem, const Placement& placement,
                                  const SegmentCosts& costs);

/// Finds the kinds with the same backends on slots of as many cores, so that these can take each other's
/// frames: the backends that are best for the slowest of the slots, without one that not all of them have (a
/// library with one pool of threads is on one core set). A segment that no backend runs on all of them is run
/// as in find_executor_kinds.
ExecutorKinds find_even_executor_kinds(const PlanningProblem& problem, const Placement& placement,
                                       const SegmentCosts& costs);

/// Finds the kinds with each segment run by the backend that is fastest on the slot.
ExecutorKinds find_fastest_executor_kinds(const PlanningProblem& problem, const Placement& placement,
                                          const SegmentCosts& costs);

/// Returns the kinds' executors; those of a family run everything by the same backends on one kind of device.
std::vector<TeamCandidates> find_team_candidates(const PlanningProblem& problem, const ExecutorKinds& kinds);

/// Part of a memory that a stage may use.
struct StageMemory {
  double most = cannot_run;  // limit of held_bytes; infinity if unlimited
  /// Whether stages have as many frames at a time as its device runs, and one whose values are copied
  /// meanwhile; else they have one.
  bool has_spare_frame = true;
};

/// Returns the teams, each once, in the order in which they come first.
ExecutorTeams distinct_teams(const ExecutorTeams& teams);

/// Returns the time of a copy from one memory to another, in nanoseconds; zero where it is not known.
StageLink stage_link(const SegmentCosts& costs, uint32_t from, uint32_t to);

/// Returns the bytes of the segment's constants and of the values that it makes; a value whose size is known
/// only at run time counts one byte.
double held_bytes(const Graph& graph, const std::vector<NodeId>& segment);

/// Makes the problem: segments are nodes, kinds of executors are kinds of devices, and each distinct team
/// counts as often as `teams` has it. `memory` is indexed by memory space; that of the host has no limit.
StageProblem make_stage_problem(const PlanningProblem& problem, const Placement& placement,
                                const SegmentCosts& costs, const ExecutorKinds& kinds,
                                const ExecutorTeams& teams, const std::vector<StageMemory>& memory);

}  // namespace intarsia
