// Functions of a model on their way through a compile: ImportedFunction -> PlannedFunction ->
// CompiledFunction.
#pragma once

#include "compile/compile_regions.h"
#include "passes/bind_shapes.h"
#include "plan/choose/choose_plan.h"
#include "plan/memory_use.h"
#include "plan/stages/staged_plan.h"

namespace intarsia {

/// A signature of a SavedModel, or the only function of any other model, before anything is placed.
struct ImportedFunction {
  std::string name;                                // name in the program: the signature's, else "main"
  uint64_t model_weights_bytes = 0;                // size of the weights as stored in the model
  std::vector<SymbolBinding> bindings;             // sizes that the model leaves open and that are numbers
  std::vector<std::string> size_notes;             // open sizes that are taken as one, for people to read
  std::vector<std::string> tuned_symbols;          // open sizes that the request's tune_at names
  std::shared_ptr<RefusedRegions> refused;         // regions refused by problem->targets
  std::shared_ptr<const PlanningProblem> problem;  // includes the graph
};

/// A function with the plan that ships.
struct PlannedFunction : ImportedFunction {
  ChosenPlan chosen;
  std::optional<StageReport> stage_report;  // present if this compile chose the stages
  std::vector<std::string> notes;           // wishes that were not followed, for people to read

  /// Returns these notes, and those of the choice of the plan and of plug-ins.
  std::vector<std::string> all_notes() const;
};

/// A function with the code of its plan and of the plan's alternatives.
struct CompiledFunction : PlannedFunction {
  CompiledRegions regions;
  std::vector<CompiledRegions> alternatives;     // compiled regions of chosen.alternatives
  std::vector<CompiledRegions> specializations;  // likewise
  uint64_t arena_bytes = 0;                      // total over all spaces
  std::vector<MemoryUse> memory;                 // memory use of this function alone, by space
};

}  // namespace intarsia
