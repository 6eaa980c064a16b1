// The explanation of a model that was placed.
#include <algorithm>

#include "compile/describe.h"
#include "compile/explanation.h"

namespace intarsia {
namespace {

std::optional<uint64_t> value_bytes(const Value& value) {
  const std::optional<Shape> shape = value.type.fixed_shape();
  if (!shape || value.type.opaque || value.type.dtype == DType::string) return std::nullopt;
  return dtype_bytes(value.type.dtype, static_cast<size_t>(element_count(*shape)));
}

ExplainedPort explain_port(const Value& value) {
  ExplainedPort port{
      value.name, value.type.opaque ? "opaque" : std::string(dtype_name(value.type.dtype)), {}};
  if (!value.type.shape) return port;
  port.shape.emplace();
  for (const Dim& dim : *value.type.shape) port.shape->push_back(dim.is_number() ? dim.value : -1);
  return port;
}

ExplainedNode explain_node(const CompileResult& result, size_t number) {
  const Node& node = result.graph.nodes[number];
  ExplainedNode explained{node.name,
                          node.domain.empty() ? node.op : node.domain + "." + node.op,
                          result.placement.reason[number],
                          result.placement.refusals[number],
                          result.partition.region_of[number],
                          uint64_t{0}};
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!has_output(node, i)) continue;
    const std::optional<Shape> shape = result.graph.value(node.outputs[i]).type.fixed_shape();
    if (!shape || !explained.elements) {
      explained.elements.reset();
    } else {
      *explained.elements += static_cast<uint64_t>(element_count(*shape));
    }
  }
  return explained;
}

/// Where a region's target works: a slot number, or -1 for the host's memory.
int memory_of_region(const CompileResult& result, int region) {
  if (region < 0) return -1;
  const uint32_t slot = result.targets[result.partition.regions[static_cast<size_t>(region)].target].slot;
  return is_host_kind(result.slots[slot].kind) ? -1 : static_cast<int>(slot);
}

void add_flow(const CompileResult& result, const Value& value, int to_node,
              std::vector<ExplainedFlow>& flows) {
  ExplainedFlow flow;
  flow.value = value.name;
  flow.from_node = value.producer == no_node ? -1 : static_cast<int>(index(value.producer));
  flow.to_node = to_node;
  const auto region_of = [&](int node) {
    return node < 0 ? -1 : static_cast<int>(result.partition.region_of[static_cast<size_t>(node)]);
  };
  flow.from_region = region_of(flow.from_node);
  flow.to_region = region_of(to_node);
  flow.copied = memory_of_region(result, flow.from_region) != memory_of_region(result, flow.to_region);
  flow.bytes = value_bytes(value);
  flows.push_back(std::move(flow));
}

std::vector<ExplainedFlow> explain_flows(const CompileResult& result) {
  std::vector<ExplainedFlow> flows;
  for (size_t i = 0; i < result.graph.nodes.size(); ++i) {
    for (ValueId id : values_read(result.graph.nodes[i])) {
      const Value& value = result.graph.value(id);
      if (!value.constant) add_flow(result, value, static_cast<int>(i), flows);
    }
  }
  for (ValueId id : result.graph.outputs) {
    if (!result.graph.value(id).constant) add_flow(result, result.graph.value(id), -1, flows);
  }
  return flows;
}

}  // namespace

Explanation explain_result(const CompileResult& result) {
  Explanation explanation;
  for (ValueId id : result.graph.inputs) explanation.inputs.push_back(explain_port(result.graph.value(id)));
  for (ValueId id : result.graph.outputs) explanation.outputs.push_back(explain_port(result.graph.value(id)));
  for (const DeviceSlot& slot : result.slots)
    explanation.slots.push_back({slot.name, slot.kind, slot.device});
  explanation.symbols = result.bindings;
  if (result.stopped && result.partition.regions.empty()) return explanation;
  for (size_t i = 0; i < result.graph.nodes.size(); ++i) explanation.nodes.push_back(explain_node(result, i));
  for (size_t r = 0; r < result.partition.regions.size(); ++r) {
    const Region& region = result.partition.regions[r];
    ExplainedRegion explained{result.targets[region.target].name, {}, {}};
    for (NodeId node : region.nodes) explained.nodes.push_back(index(node));
    if (r < result.kernels.size()) explained.kernels = result.kernels[r];
    explanation.regions.push_back(std::move(explained));
  }
  for (const ScheduleStep& step : result.steps) {
    if (step.kind != ScheduleStep::Kind::copy) continue;
    const Value& value = result.graph.value(step.from.value);
    explanation.copies.push_back({value.name, memory_name(result, step.from.slot),
                                  memory_name(result, step.to.slot), value_bytes(value)});
  }
  explanation.flows = explain_flows(result);
  return explanation;
}

}  // namespace intarsia
