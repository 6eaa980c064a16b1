// Plans become temporary programs that run here.
#pragma once

#include "compile/compile_regions.h"

namespace intarsia {

/// Compiles each plan, writes it to a temporary file and has tools.time_programs run them in turns. One
/// result a plan: it may not compile or run. Error: none could be measured, because there was no time, or no
/// room for the files.
Result<std::vector<Result<PlanTimes>>> measure_plans(const PlanningProblem& problem,
                                                     const std::vector<const Plan*>& plans,
                                                     RegionCompiler& compiler, const CompileRequest& request,
                                                     const BackendRegistry& tools);

/// Known from the table, or measured now.
Result<LinkCost> measure_link(const DeviceSlot& from, const DeviceSlot& to, RegionCompiler& compiler,
                              const CompileRequest& request, const BackendRegistry& tools);

/// Why plans are not compared in this compile; empty: they are.
std::string why_plans_are_not_measured(RegionCompiler& compiler, const CompileRequest& request,
                                       const BackendRegistry& tools);

/// What the times of plans and regions depend on besides their content: `code`, `threads` and `precision`.
CostKey plan_conditions(const CompileRequest& request);

}  // namespace intarsia
