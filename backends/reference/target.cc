#include "backends/reference/target.h"

#include "backends/reference/kernel.h"
#include "backends/reference/plan_region.h"
#include "graph/op_table.h"

namespace intarsia {
namespace reference {
namespace {

class ReferenceTarget : public Target {
 public:
  ReferenceTarget() : Target({.name = "reference", .is_unoptimized = true}) {}

  Support supports(const Graph& graph, NodeId id, const TargetDevice&) const override {
    const Node& node = graph.node(id);
    if (find_kernel(node.domain, node.op) == nullptr) {
      return Support::refused(fmt::format("no reference kernel for {}{}{}", node.domain,
                                          node.domain.empty() ? "" : ".", node.op));
    }
    if (find_op(node) == nullptr) {
      return Support::refused(fmt::format("{} of opset {} is older than the {} that its kernel knows",
                                          node.op, node.version, oldest_known_opset));
    }
    if (!node.captures.empty()) return Support::refused("its subgraphs read outer values");
    for (const auto& attribute : node.attributes) {
      if (std::holds_alternative<EncodedAttribute>(attribute.value)) {
        return Support::refused(fmt::format("attribute '{}' is a graph or a type", attribute.name));
      }
    }
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (ValueId value : *list) {
        if (value != no_value && graph.value(value).type.opaque) {
          return Support::refused(fmt::format("value '{}' is not a tensor", graph.value(value).name));
        }
      }
    }
    return Support::supported();
  }

  Result<CompiledRegion> compile(const Graph& region, const TargetDevice&,
                                 const CompileOptions&) const override {
    PlannedRegion planned = TRY(plan_region(region));
    CompiledRegion compiled;
    compiled.blob = encode_plan(planned.plan);
    compiled.constants = std::move(planned.constants);
    compiled.workspace_bytes = planned.plan.workspace_bytes;
    compiled.kernels = static_cast<int>(planned.plan.calls.size());
    return compiled;
  }
};

}  // namespace
}  // namespace reference

std::unique_ptr<Target> make_reference_target() { return std::make_unique<reference::ReferenceTarget>(); }

}  // namespace intarsia
