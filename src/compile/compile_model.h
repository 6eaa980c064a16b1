// Compiling a model file to a program file.
#pragma once

#include "compile/compile_regions.h"
#include "passes/bind_shapes.h"
#include "plan/choose/choose_plan.h"
#include "plan/stages/choose_stages.h"
#include "program/program_size.h"

namespace intarsia {

/// A signature of a SavedModel, or the only function of any other model, with the result of each compile
/// phase. Phases after `stop_after` are empty.
struct CompiledFunction {
  std::string name;  // name in the program: the signature's, else "main"
  uint64_t model_weights_bytes = 0;
  std::vector<SymbolBinding> bindings;
  PlanningProblem problem;  // includes the graph as it was placed
  std::shared_ptr<RefusedRegions> refused = std::make_shared<RefusedRegions>();  // refused by problem.targets
  std::vector<std::string> notes;  // wishes that were not followed, for people to read
  ChosenPlan chosen;
  std::optional<StageReport> stage_report;  // present if this compile chose the stages
  CompiledRegions regions;
  std::vector<CompiledRegions> alternatives;  // compiled regions of chosen.alternatives
  uint64_t arena_bytes = 0;                   // total over all spaces
  std::vector<MemoryUse> memory;              // memory use of this function alone, by space
};

struct CompileResult {
  std::vector<CompiledFunction> functions;  // at least one
  uint64_t constants_bytes = 0;             // size as stored in the program: equal constants count once
  std::optional<ProgramSize> size;          // nullopt if no program was written
  double seconds = 0;
  bool stopped = false;  // whether stop_after ended the compile
};

/// Returns the names that print_after and stop_after take, in order. print_after also takes steps of
/// backends: "halide.fuse".
std::vector<std::string> pass_names();

/// Compiles the model. The program is written whole or not at all. Errors name the model and a remedy.
Result<CompileResult> compile_model(const CompileRequest& request, const BackendRegistry& tools);

}  // namespace intarsia
