// One way to run a graph, in the stages in which it is made: Placement -> Partition -> StepList.
#pragma once

#include "plan/planning_problem.h"
#include "plan/step_list.h"
#include "target/timing.h"

namespace intarsia {

struct Plan {
  Placement placement;  // every node has a target
  Partition partition;  // nodes of one target are joined in regions
  StepList steps;       // regions run in this order, with the copies between
};

struct PlanTimes {
  Timing whole;
  std::vector<Timing> regions;  // one a region
};

}  // namespace intarsia
