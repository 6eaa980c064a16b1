// Which regions pay: the plan as placed against plans with less, or nothing, outside of a framework.
#pragma once

#include "compile/plan_timer.h"

namespace intarsia {

/// What plans are made and timed with.
struct PlanTools {
  std::string disabled_reason;  // why nothing is compared; empty: plans are
  PlanTimer* timer = nullptr;   // null only with disabled_reason
  /// `plan` with another placement, run through the passes behind placing.
  std::function<Result<CompileResult>(const CompileResult& plan, Placement)> replan;
};

/// The fastest of: the plan as placed; the same without the regions of ours ("islands") that take longer,
/// with the calls at their boundary, than the framework takes for their nodes as a region alone; everything
/// in the framework. Compared are times of whole runs; within 2% the plan with more of ours ships. The moved
/// nodes' reasons say the times, `plan` of the result what was chosen. Pins and kernels of the user's stay. A
/// plan of one backend comes back at once.
///   ort 0.30 | halide 0.12 | ort 0.30, the middle takes ort 0.05:  the middle goes to ort when that run is
///   faster
CompileResult choose_plan(CompileResult placed, const PlanTools& tools);

}  // namespace intarsia
