// The steps of a placed graph become a function of the program: values with storage, arenas, run and copy
// steps.
#pragma once

#include "compile/compile_regions.h"
#include "plan/chosen_stage.h"
#include "plan/region_costs.h"
#include "program/program.h"

namespace intarsia {

/// What a function of a program is made of. All of it outlives the call.
struct FunctionParts {
  const std::string& name;
  const PlanningProblem& problem;
  const Plan& plan;
  const CompiledRegions& regions;
  std::optional<int64_t> measured;               // nanoseconds of a run
  std::vector<RegionCost> region_costs;          // of each region; empty: not known
  std::vector<FunctionParts> alternatives = {};  // of the same problem, in order of preference
  std::vector<ChosenStage> stages = {};          // of the plan; empty: it is not divided
};

struct BuiltFunction {
  fbs::FunctionT function;
  std::vector<ValueId> constants;  // outputs that are constants: constant i of the function is program
                                   // constant `first_constant + i`
};

/// `first_region` and `first_constant` are the numbers that its first region, and the first of its own
/// constants, have in the program.
Result<BuiltFunction> build_function(const FunctionParts& parts, uint32_t first_region,
                                     uint32_t first_constant);

/// The same of a stage of the plan alone. Its regions are those of the function.
Result<BuiltFunction> build_stage(const FunctionParts& parts, size_t stage, uint32_t first_region,
                                  uint32_t first_constant);

}  // namespace intarsia
