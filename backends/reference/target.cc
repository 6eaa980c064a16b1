#include "backends/reference/target.h"

#include "backends/reference/kernel.h"
#include "backends/reference/plan_region.h"
#include "graph/op_table.h"

namespace intarsia {
namespace reference {
namespace {

/// Returns the values between the region's nodes whose sizes are open, which a run allocates.
std::vector<OpenWorkspace> open_workspace(const Graph& region, const RegionPlan& plan) {
  const auto readers = find_readers(region);
  std::vector<OpenWorkspace> parts;
  for (size_t i = 0; i < region.values.size(); ++i) {
    const Value& value = region.values[i];
    if (plan.values[i].place != Place::dynamic || !value.type.shape) continue;
    const Dim elements = product_of_dims(*value.type.shape, 0, value.type.shape->size());
    if (!elements.is_known() || elements.is_number()) continue;
    const int first = static_cast<int>(value.producer);
    const int last = readers[i].empty() ? first : static_cast<int>(readers[i].back());
    parts.push_back({ceil_div(elements * dtype_bits(value.type.dtype), 8), first, last});
  }
  return parts;
}

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
    compiled.open_workspace = open_workspace(region, planned.plan);
    compiled.kernels = static_cast<int>(planned.plan.calls.size());
    return compiled;
  }
};

}  // namespace
}  // namespace reference

std::unique_ptr<Target> make_reference_target() { return std::make_unique<reference::ReferenceTarget>(); }

}  // namespace intarsia
