// Measuring plans as temporary programs on this machine.
#pragma once

#include "compile/compile_regions.h"

namespace intarsia {

/// Compiles each plan, writes it to a temporary file and has tools.time_programs run them in turns. Returns
/// one result per plan, since a plan may fail to compile or run. Error: none could be measured, for want of
/// time or of room for the files.
Result<std::vector<Result<PlanTimes>>> measure_plans(const PlanningProblem& problem,
                                                     const std::vector<const Plan*>& plans,
                                                     RegionCompiler& compiler, const CompileRequest& request,
                                                     const BackendRegistry& tools);

/// Returns the cost of copies between two devices, from the table or by measuring now.
Result<LinkCost> measure_link(const DeviceSlot& from, const DeviceSlot& to, RegionCompiler& compiler,
                              const CompileRequest& request, const BackendRegistry& tools);

/// Returns the reason that plans are not compared in this compile; empty if they are.
std::string why_plans_are_not_measured(RegionCompiler& compiler, const CompileRequest& request,
                                       const BackendRegistry& tools);

/// Returns the conditions, besides content, that times of plans and regions depend on: `code`, `threads` and
/// `precision`.
CostKey plan_conditions(const CompileRequest& request);

}  // namespace intarsia
