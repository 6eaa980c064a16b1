// Building a program function from the steps of a placed graph: values with storage, arenas, run and copy
// steps.
#pragma once

#include <map>

#include "compile/compile_regions.h"
#include "plan/chosen_stage.h"
#include "plan/costs/region_costs.h"
#include "program/program.h"

namespace intarsia {

/// Range of an open size, by its number.
struct SymbolRange {
  size_t symbol = 0;
  int64_t min = 0, max = 0;
};

/// Parts that a function of a program is built from. All of them outlive the call.
struct FunctionParts {
  const std::string& name;
  const PlanningProblem& problem;
  const Plan& plan;
  const CompiledRegions& regions;
  std::optional<int64_t> measured;               // time of one run, in nanoseconds
  std::vector<RegionCost> region_costs;          // cost of each region; empty if unknown
  std::vector<FunctionParts> alternatives = {};  // plans of the same problem, in order of preference
  std::vector<FunctionParts> specializations =
      {};                                 // plans for ranges of sizes, their problem at some of them
  std::vector<ChosenStage> stages = {};   // stages of the plan; empty if it is not divided
  std::vector<std::string> notes = {};    // what the compile left out, and why
  std::optional<SymbolRange> range = {};  // of a specialization
};

struct BuiltFunction {
  fbs::FunctionT function;
  std::vector<ValueId> constants;  // constants that outputs are or steps read: constant i of the function is
                                   // program constant `first_constant + i`
  /// Branches and loops, by the number of their first output; their steps have no bodies yet.
  std::map<uint32_t, const CompiledControlFlow*> flows = {};
};

/// Builds the function. `first_region` and `first_constant` are the program's numbers for its first region
/// and for the first of its own constants.
Result<BuiltFunction> build_function(const FunctionParts& parts, uint32_t first_region,
                                     uint32_t first_constant);

/// Builds one stage of the plan as a function of its own. Its regions are those of the whole function.
Result<BuiltFunction> build_stage(const FunctionParts& parts, size_t stage, uint32_t first_region,
                                  uint32_t first_constant);

}  // namespace intarsia
