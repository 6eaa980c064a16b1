// Compiling of a plan and of its alternatives: the state of the pass, and what it does.
#pragma once

#include "compile/functions.h"

namespace intarsia {

/// State of the pass that compiles the regions of a function.
struct PlanCompilation {
  RegionCompiler& compiler;
  CompiledFunction function;

  const Graph& graph() const { return function.problem->graph; }
};

/// Compiles the plan that ships, and those of its alternatives that compile. Error: the plan does not
/// compile.
Status compile_regions(PlanCompilation& compilation);
/// Checks that each plan has code for each of its regions.
Status verify_compiled(const PlanCompilation& compilation);
/// Returns a line per region: "region 0 halide@cpu: 12 kernels, 1024 bytes of constants, 512 of workspace".
std::string describe_compiled(const PlanCompilation& compilation);

}  // namespace intarsia
