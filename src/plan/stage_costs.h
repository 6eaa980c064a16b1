// The nodes and executors of a stage problem, from what parts of a model take.
#pragma once

#include "plan/mix_backends.h"
#include "plan/stage_problem.h"

namespace intarsia {

/// Slots on which every segment takes the same time.
struct ExecutorKind {
  std::vector<uint32_t> slots;
  std::vector<double> times;              // nanoseconds by segment; infinity: it cannot run there
  std::vector<const Target*> backends{};  // by segment: what runs it there; null: nothing, or it is not known
};

using ExecutorKinds = std::vector<ExecutorKind>;

/// The one that has the slot.
const ExecutorKind& kind_of_slot(const ExecutorKinds& kinds, uint32_t slot);

/// Times of segments that are not known anywhere are estimated. On its slot a segment is run by the backend
/// that has it in `placement`, if its time there is known, else by the fastest; or all by one backend, where
/// that is faster: what is best with other cores need not be best with these.
ExecutorKinds find_executor_kinds(const PlanningProblem& problem, const Placement& placement,
                                  const SegmentCosts& costs);

/// With slots of as many cores and one memory as fast as the slowest of them, backend by backend, and without
/// a backend that not all of them have (a library with one pool of threads is on one core set): so that they
/// can take each other's frames. A segment that no backend runs on all of them keeps its times.
SegmentCosts level_alike_slots(const PlanningProblem& problem, SegmentCosts costs);

/// Executors of one kind that take frames in turns: a stage's replicas.
struct ExecutorGroup {
  uint32_t kind = 0;
  uint32_t replicas = 1;
  bool operator==(const ExecutorGroup&) const = default;
};

/// Each once, in the order in which they come first.
std::vector<ExecutorGroup> distinct_groups(const std::vector<ExecutorGroup>& groups);

/// Of its constants and of the values that it makes; one whose size is known only at run time counts one
/// byte.
double held_bytes(const Graph& graph, const std::vector<NodeId>& segment);

/// Segments are nodes; each of the distinct groups is a kind of devices, as many as there are of it. Times
/// are of a frame: with replicas, of one frame in so many. `memory`: the most that a stage may hold
/// (held_bytes) in each but the host's; infinity: no limit.
StageProblem make_stage_problem(const PlanningProblem& problem, const Placement& placement,
                                const SegmentCosts& costs, const ExecutorKinds& kinds,
                                const std::vector<ExecutorGroup>& groups, const std::vector<double>& memory);

}  // namespace intarsia
