// From a model file to a program file.
#pragma once

#include "compile/compile_regions.h"
#include "passes/bind_shapes.h"
#include "plan/choose_plan.h"
#include "plan/choose_stages.h"
#include "program/program_size.h"

namespace intarsia {

/// A signature of a SavedModel, or the one function of any other model, with what each stage made of it.
/// Stages after `stop_after` are empty.
struct CompiledFunction {
  std::string name;  // in the program: the signature's, else "main"
  uint64_t model_weights_bytes = 0;
  std::vector<SymbolBinding> bindings;
  PlanningProblem problem;  // the graph as it was placed
  ChosenPlan chosen;
  std::optional<StageReport> stage_report;  // of stages that were chosen now
  CompiledRegions regions;
  std::vector<CompiledRegions> alternatives;  // of chosen.alternatives
  uint64_t arena_bytes = 0;                   // in all spaces
  std::vector<MemoryUse> memory;              // by space, of the function alone
};

struct CompileResult {
  std::vector<CompiledFunction> functions;  // at least one
  uint64_t constants_bytes = 0;             // as stored in the program: equal ones once
  std::optional<ProgramSize> size;          // absent: no program was written
  double seconds = 0;
  bool stopped = false;  // by stop_after
};

/// The names that print_after and stop_after take, in order. print_after takes steps of backends, too:
/// "halide.fuse".
std::vector<std::string> pass_names();

/// Errors name the model and what to do. The program is written whole or not at all.
Result<CompileResult> compile_model(const CompileRequest& request, const BackendRegistry& tools);

}  // namespace intarsia
