// Way to run a graph, in the stages in which it is made: Placement -> Partition -> StepList.
#pragma once

#include <functional>

#include "plan/planning_problem.h"
#include "plan/step_list.h"
#include "target/timing.h"

namespace intarsia {

struct Plan {
  Placement placement;  // gives every node a target
  Partition partition;  // joins nodes of one target in regions
  StepList steps;       // runs of regions in order, with the copies between
};

/// Function that makes the plan of another placement: the passes after placing.
using Replan = std::function<Result<Plan>(Placement)>;

/// Time of a kernel, or of a framework's operator.
struct KernelTime {
  uint32_t region = 0;
  std::string label;  // name of one of its nodes or values, and what it computes: "conv1: Conv Relu"
  int64_t nanoseconds = never;
};

struct PlanTimes {
  Timing whole;
  std::vector<Timing> regions;      // indexed by region
  std::vector<KernelTime> kernels;  // times of kernels, as far as backends report them
  std::string fault = {};           // reason why it cannot ship, such as wrong results; empty if it can
};

}  // namespace intarsia
