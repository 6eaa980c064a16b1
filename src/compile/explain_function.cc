// The explanation of a model that was placed.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

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
  for (const Dim& dim : *value.type.shape) port.shape->push_back(dim.is_number() ? dim.number() : -1);
  return port;
}

ExplainedNode explain_node(const CompiledFunction& function, size_t number) {
  const Node& node = function.problem.graph.nodes[number];
  ExplainedNode explained{node.name,
                          node.domain.empty() ? node.op : node.domain + "." + node.op,
                          function.chosen.plan.placement.reason[number],
                          function.chosen.plan.placement.refusals[number],
                          function.chosen.plan.partition.region_of[number],
                          uint64_t{0},
                          uint64_t{0}};
  const auto add = [](std::optional<uint64_t>& sum, std::optional<uint64_t> part) {
    sum = sum && part ? std::optional(*sum + *part) : std::nullopt;
  };
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!has_output(node, i)) continue;
    const Value& value = function.problem.graph.value(node.outputs[i]);
    const std::optional<Shape> shape = value.type.fixed_shape();
    add(explained.elements,
        shape ? std::optional(static_cast<uint64_t>(element_count(*shape))) : std::nullopt);
    add(explained.bytes, value_bytes(value));
    explained.outputs.push_back(explain_port(value));
  }
  return explained;
}

/// "halide@cpu + reference@cpu"
std::string targets_of(const PlanningProblem& problem, const Plan& plan) {
  std::set<std::string> targets;
  for (const Region& region : plan.partition.regions) targets.insert(problem.targets[region.target].name);
  return fmt::format("{}", fmt::join(targets, " + "));
}

/// The memory that a region works in; the host's for -1.
uint32_t memory_of_region(const CompiledFunction& function, int region) {
  if (region < 0) return host_memory;
  return function.problem
      .space_of_target[function.chosen.plan.partition.regions[static_cast<size_t>(region)].target];
}

void add_flow(const CompiledFunction& function, const Value& value, int to_node,
              std::vector<ExplainedFlow>& flows) {
  ExplainedFlow flow;
  flow.value = value.name;
  flow.from_node = value.producer == no_node ? -1 : static_cast<int>(index(value.producer));
  flow.to_node = to_node;
  const auto region_of = [&](int node) {
    return node < 0 ? -1
                    : static_cast<int>(function.chosen.plan.partition.region_of[static_cast<size_t>(node)]);
  };
  flow.from_region = region_of(flow.from_node);
  flow.to_region = region_of(to_node);
  flow.copied = memory_of_region(function, flow.from_region) != memory_of_region(function, flow.to_region);
  flow.bytes = value_bytes(value);
  flows.push_back(std::move(flow));
}

std::vector<ExplainedFlow> explain_flows(const CompiledFunction& function) {
  std::vector<ExplainedFlow> flows;
  for (size_t i = 0; i < function.problem.graph.nodes.size(); ++i) {
    for (ValueId id : values_read(function.problem.graph.nodes[i])) {
      const Value& value = function.problem.graph.value(id);
      if (!value.constant) add_flow(function, value, static_cast<int>(i), flows);
    }
  }
  for (ValueId id : function.problem.graph.outputs) {
    if (!function.problem.graph.value(id).constant)
      add_flow(function, function.problem.graph.value(id), -1, flows);
  }
  return flows;
}

}  // namespace

Explanation explain_function(const CompiledFunction& function) {
  const PlanningProblem& problem = function.problem;
  const Plan& plan = function.chosen.plan;
  const Graph& graph = problem.graph;
  Explanation explanation;
  for (ValueId id : graph.inputs) explanation.inputs.push_back(explain_port(graph.value(id)));
  for (ValueId id : graph.outputs) explanation.outputs.push_back(explain_port(graph.value(id)));
  for (const DeviceSlot& slot : problem.slots)
    explanation.slots.push_back({slot.name, slot.kind, slot.device});
  explanation.symbols = function.bindings;
  if (plan.partition.region_of.size() != graph.nodes.size()) return explanation;
  for (size_t i = 0; i < graph.nodes.size(); ++i) explanation.nodes.push_back(explain_node(function, i));
  for (size_t r = 0; r < plan.partition.regions.size(); ++r) {
    const Region& region = plan.partition.regions[r];
    ExplainedRegion explained{problem.targets[region.target].name, {}, {}};
    for (NodeId node : region.nodes) explained.nodes.push_back(index(node));
    if (r < function.regions.regions.size()) explained.kernels = function.regions.regions[r].kernels;
    explanation.regions.push_back(std::move(explained));
  }
  for (const Step& step : plan.steps) {
    if (step.kind != Step::Kind::copy) continue;
    const Value& value = graph.value(step.from.value);
    explanation.copies.push_back(
        {value.name, problem.spaces[step.from.space], problem.spaces[step.to.space], value_bytes(value)});
  }
  explanation.flows = explain_flows(function);
  for (const AlternativePlan& alternative : function.chosen.alternatives)
    explanation.alternatives.push_back({targets_of(problem, alternative.plan), alternative.measured});
  explanation.measured = function.chosen.measured;
  return explanation;
}

void find_takers(const PlanningProblem& problem, Explanation& explanation) {
  for (uint32_t i = 0; i < explanation.nodes.size(); ++i) {
    std::map<const Target*, bool> takes;  // a backend is asked once, however many slots it has
    for (const PlacementTarget& target : problem.targets) {
      const auto [known, is_new] = takes.try_emplace(target.backend);
      if (is_new) known->second = target.backend->supports(problem.graph, NodeId{i}, target.device).yes;
      if (known->second && target.backend->name() != "nobody")
        explanation.nodes[i].takers.push_back(target.name);
    }
  }
}

}  // namespace intarsia
