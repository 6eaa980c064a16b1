// One way to run a graph, in the stages in which it is made: Placement -> Partition -> StepList.
#pragma once

#include "plan/planning_problem.h"
#include "plan/step_list.h"

namespace intarsia {

struct Plan {
  Placement placement;  // every node has a target
  Partition partition;  // nodes of one target are joined in regions
  StepList steps;       // regions run in this order, with the copies between
};

/// Nanoseconds of a run: the least of several rounds.
struct PlanTimes {
  int64_t whole = 0;
  std::vector<int64_t> regions;  // one a region
};

}  // namespace intarsia
