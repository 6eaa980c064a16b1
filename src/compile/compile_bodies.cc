#include "compile/compile_bodies.h"

#include "compile/compile_model.h"
#include "passes/note_quantization.h"
#include "passes/remove_dead_nodes.h"
#include "passes/simplify_reshapes.h"

namespace intarsia {
namespace {

/// Returns the problem of a body, whose targets are those of our own on the slot.
PlanningProblem problem_of_body(const PlanningProblem& outer, uint32_t slot) {
  PlanningProblem problem{
      .graph = {}, .slots = outer.slots, .spaces = outer.spaces, .targets = {}, .space_of_target = {}};
  for (size_t t = 0; t < outer.targets.size(); ++t) {
    if (outer.targets[t].slot != slot || !outer.targets[t].backend->info().is_native()) continue;
    problem.targets.push_back(outer.targets[t]);
    problem.space_of_target.push_back(outer.space_of_target[t]);
  }
  return problem;
}

/// Returns the request for a body: wishes about the whole model do not concern it.
CompileRequest request_for_body(const CompileRequest& outer) {
  CompileRequest request = outer;
  request.shapes.clear();
  request.tune_at.clear();
  request.pins.clear();
  request.outputs.clear();
  request.also.clear();
  request.memory_limits.clear();
  request.cuts.clear();
  request.stages.reset();
  request.objective = Objective::latency;
  request.plan_path.clear();
  request.saved_plan_path.clear();
  request.keep_placement = true;
  request.print_after.clear();
  request.stop_after.clear();
  return request;
}

Result<CompiledFunction> compile_body(const PassRunner& passes, std::string name, PlanningProblem problem,
                                      Graph body) {
  simplify_reshapes(body);
  remove_dead_nodes(body);
  note_quantization(body);
  problem.graph = std::move(body);
  ImportedFunction imported;
  imported.name = std::move(name);
  imported.refused = std::make_shared<RefusedRegions>();
  imported.problem = std::make_shared<const PlanningProblem>(std::move(problem));
  PassRunner quiet = passes.quiet();
  return compile_function(quiet, imported, {});
}

}  // namespace

Result<std::shared_ptr<const CompiledControlFlow>> compile_bodies(const PlanningProblem& problem, NodeId node,
                                                                  uint32_t target,
                                                                  const CompileRequest& request,
                                                                  const CompileServices& services) {
  const PlanningProblem of_body = problem_of_body(problem, problem.targets[target].slot);
  const CompileRequest for_body = request_for_body(request);
  const PassRunner passes(for_body, services);
  auto compiled = std::make_shared<CompiledControlFlow>();
  compiled->flow =
      TRY(read_control_flow(problem.graph, node, services.evaluate, [&](Graph& body, NodeId inner) -> Status {
        for (const PlacementTarget& one : of_body.targets) TRY(one.backend->infer_types(body, inner));
        return {};
      }));
  for (const Graph& body : compiled->flow.bodies) {
    const std::string name =
        request.strip_names ? "body" : fmt::format("{}/{}", problem.graph.node(node).name, body.name);
    compiled->bodies.push_back(
        TRY(with_context(compile_body(passes, name, of_body, body), "body '{}'", name)));
  }
  return std::shared_ptr<const CompiledControlFlow>(std::move(compiled));
}

}  // namespace intarsia
