#include "compile/control_flow_target.h"

#include <algorithm>

#include "compile/control_flow.h"

namespace intarsia {
namespace {

constexpr int deepest_bodies = 4;  // nesting; each level types the bodies inside it again

class ControlFlowTarget : public Target {
 public:
  ControlFlowTarget(std::vector<const Target*> natives, Evaluate evaluate)
      : Target({.name = "control_flow", .device_kinds = {"cpu"}, .runs_bodies = true}),
        natives_(std::move(natives)),
        evaluate_(std::move(evaluate)) {}

  Support supports(const Graph& graph, NodeId node, const TargetDevice& device) const override {
    return supports_at(graph, node, device, 0);
  }

  Status infer_types(Graph& graph, NodeId node) const override { return infer_at(graph, node, 0); }

  Result<CompiledRegion> compile(const Graph&, const TargetDevice&, const CompileOptions&) const override {
    return fail("internal error: a region of bodies is compiled as one");
  }

 private:
  /// Gives no reason for nodes of other operators, which reports would repeat for each.
  Support supports_at(const Graph& graph, NodeId id, const TargetDevice& device, int depth) const {
    if (!has_control_flow(graph.node(id))) return Support::refused("");
    const Result<ControlFlow> flow = read(graph, id, depth);
    if (!flow) return Support::refused(flow.error().message);
    for (const Graph& body : flow->bodies)
      for (uint32_t i = 0; i < body.nodes.size(); ++i)
        if (Support answer = supports_inside(body, NodeId{i}, device, depth); !answer.yes) return answer;
    return Support::supported();
  }

  Support supports_inside(const Graph& body, NodeId id, const TargetDevice& device, int depth) const {
    const auto takes = [&](const Target* native) { return native->supports(body, id, device).yes; };
    if (std::ranges::any_of(natives_, takes)) return Support::supported();
    const Support own = supports_at(body, id, device, depth + 1);
    if (own.yes) return own;
    const Node& node = body.node(id);
    return Support::refused(fmt::format("node '{}' ({}) in its body: {}", node.name, node.op,
                                        own.because.empty() ? "no backend of ours runs it" : own.because));
  }

  Status infer_at(Graph& graph, NodeId id, int depth) const {
    if (!has_control_flow(graph.node(id))) return {};
    Result<ControlFlow> flow = read(graph, id, depth);
    if (!flow) return {};
    for (size_t i = 0; i < flow->outputs.size(); ++i)
      graph.value(graph.node(id).outputs[i]).type = std::move(flow->outputs[i]);
    return {};
  }

  Result<ControlFlow> read(const Graph& graph, NodeId id, int depth) const {
    if (depth == deepest_bodies) return fail("its bodies are nested more than {} deep", deepest_bodies);
    return read_control_flow(graph, id, evaluate_, [&](Graph& body, NodeId node) -> Status {
      for (const Target* native : natives_) TRY(native->infer_types(body, node));
      return infer_at(body, node, depth + 1);
    });
  }

  const std::vector<const Target*> natives_;
  const Evaluate evaluate_;
};

}  // namespace

std::unique_ptr<Target> make_control_flow_target(std::vector<const Target*> natives, Evaluate evaluate) {
  return std::make_unique<ControlFlowTarget>(std::move(natives), std::move(evaluate));
}

}  // namespace intarsia
