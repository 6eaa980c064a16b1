// Compiling the bodies of branches and loops: each is a function of its own, on the slot of its node.
#pragma once

#include "compile/control_flow.h"
#include "compile/functions.h"

namespace intarsia {

struct CompiledControlFlow {
  ControlFlow flow;
  std::vector<CompiledFunction> bodies;  // compiled flow.bodies
};

/// Compiles the bodies of a node of the problem that `target` supports. They run on the target's slot, in
/// backends that need no framework.
Result<std::shared_ptr<const CompiledControlFlow>> compile_bodies(const PlanningProblem& problem, NodeId node,
                                                                  uint32_t target,
                                                                  const CompileRequest& request,
                                                                  const CompileServices& services);

}  // namespace intarsia
