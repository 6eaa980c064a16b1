// Measuring plans as temporary programs on this machine.
#pragma once

#include "compile/compile_regions.h"

namespace intarsia {

/// Compiles each plan, writes it to a temporary file and has Measuring::time_programs run them in turns.
/// Returns one result per plan, since a plan may fail to compile or run. Error: none could be measured, for
/// want of time or of room for the files.
/// `problem`: that of the compiler, maybe at other sizes.
Result<std::vector<Result<PlanTimes>>> measure_plans(const std::vector<const Plan*>& plans,
                                                     const PlanningProblem& problem,
                                                     RegionCompiler& compiler);

/// Returns the cost of copies between two devices from the table; nullopt if it was never measured.
std::optional<LinkCost> recall_link(const DeviceSlot& from, const DeviceSlot& to, RegionCompiler& compiler);
/// Measures the cost of copies between two devices, and keeps it.
Result<LinkCost> measure_link(const DeviceSlot& from, const DeviceSlot& to, RegionCompiler& compiler);

/// Returns the reason that plans are not compared in this compile; empty if they are.
std::string why_plans_are_not_measured(RegionCompiler& compiler);

/// Returns the conditions, besides content, that times of plans and regions depend on: `code`, `threads`,
/// `precision` and `sizes`.
CostKey plan_conditions(const PlanningProblem& problem, const CompileRequest& request);

}  // namespace intarsia
