// One way to run a graph, in the stages in which it is made: Placement -> Partition -> StepList.
#pragma once

#include <functional>

#include "plan/planning_problem.h"
#include "plan/step_list.h"
#include "target/timing.h"

namespace intarsia {

struct Plan {
  Placement placement;  // every node has a target
  Partition partition;  // nodes of one target are joined in regions
  StepList steps;       // regions run in this order, with the copies between
};

/// The plan of another placement: the passes after placing.
using Replan = std::function<Result<Plan>(Placement)>;

/// A kernel, or an operator of a framework.
struct KernelTime {
  uint32_t region = 0;
  std::string label;  // "conv1: Conv Relu": the name of one of its nodes or values, and what it computes
  int64_t nanoseconds = never;
};

struct PlanTimes {
  Timing whole;
  std::vector<Timing> regions;      // one a region
  std::vector<KernelTime> kernels;  // as far as backends report them
  std::string fault = {};           // what it computes otherwise than the plans beside it; empty: nothing
};

}  // namespace intarsia
