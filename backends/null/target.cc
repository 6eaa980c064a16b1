#include "backends/null/target.h"

namespace intarsia {

Support NullTarget::supports(const Graph& graph, NodeId node, const TargetDevice&) const {
  for (ValueId output : graph.node(node).outputs) {
    if (output == no_value) continue;
    const Value& value = graph.value(output);
    if (!value.type.fixed_shape()) {
      return Support::refused(
          fmt::format("output '{}' is {}, which has no fixed shape", value.name, print_type(value.type)));
    }
  }
  return Support::supported();
}

Result<CompiledRegion> NullTarget::compile(const Graph& region, const TargetDevice&,
                                           const CompileOptions&) const {
  CompiledRegion compiled;
  compiled.blob = fmt::format("{} {}", region.inputs.size(), region.outputs.size());
  return compiled;
}

}  // namespace intarsia
