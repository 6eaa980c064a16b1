// Explanation of a placed model.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/count_operations.h"
#include "graph/data_sizes.h"
#include "plan/partition/describe_plan.h"
#include "plan/place/mix_backends.h"
#include "plan/stages/stage_steps.h"
#include "report/explanation.h"

namespace intarsia {
namespace {

ExplainedPort explain_port(const Graph& graph, const Value& value) {
  return {value.name, value.type.opaque ? "opaque" : std::string(dtype_name(value.type.dtype)),
          value.type.shape ? std::optional(without_data_sizes(graph, *value.type.shape)) : std::nullopt};
}

ExplainedNode explain_node(const CompiledFunction& function, size_t number) {
  const Node& node = function.problem->graph.nodes[number];
  ExplainedNode explained{node.name,
                          node.domain.empty() ? node.op : node.domain + "." + node.op,
                          function.chosen.plan.placement.nodes[number].reason,
                          function.chosen.plan.placement.nodes[number].refusals,
                          function.chosen.plan.partition.region_of[number],
                          uint64_t{0},
                          uint64_t{0}};
  const auto add = [](std::optional<uint64_t>& sum, std::optional<uint64_t> part) {
    sum = sum && part ? std::optional(*sum + *part) : std::nullopt;
  };
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!has_output(node, i)) continue;
    const Value& value = function.problem->graph.value(node.outputs[i]);
    const std::optional<Shape> shape = value.type.fixed_shape();
    add(explained.elements,
        shape ? std::optional(static_cast<uint64_t>(element_count(*shape))) : std::nullopt);
    add(explained.bytes, value.type.fixed_bytes());
    explained.outputs.push_back(explain_port(function.problem->graph, value));
  }
  return explained;
}

/// Returns the memory space that a region works in; the host's for -1.
uint32_t memory_of_region(const CompiledFunction& function, int region) {
  if (region < 0) return host_memory;
  return function.problem
      ->space_of_target[function.chosen.plan.partition.regions[static_cast<size_t>(region)].target];
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
  flow.bytes = value.type.fixed_bytes();
  flows.push_back(std::move(flow));
}

std::vector<ExplainedFlow> explain_flows(const CompiledFunction& function) {
  std::vector<ExplainedFlow> flows;
  for (size_t i = 0; i < function.problem->graph.nodes.size(); ++i) {
    for (ValueId id : values_read(function.problem->graph.nodes[i])) {
      const Value& value = function.problem->graph.value(id);
      if (!value.constant) add_flow(function, value, static_cast<int>(i), flows);
    }
  }
  for (ValueId id : function.problem->graph.outputs) {
    if (!function.problem->graph.value(id).constant)
      add_flow(function, function.problem->graph.value(id), -1, flows);
  }
  return flows;
}

ExplainedRegion explain_region(const CompiledFunction& function, size_t number) {
  const Graph& graph = function.problem->graph;
  const Partition& partition = function.chosen.plan.partition;
  const Region& region = partition.regions[number];
  ExplainedRegion explained{function.problem->targets[region.target].name, {}, {}};
  explained.flops = 0;
  std::set<ValueId> constants;
  for (NodeId id : region.nodes) {
    explained.nodes.push_back(index(id));
    *explained.flops += count_operations(graph, graph.node(id));
    for (ValueId value : values_read(graph.node(id))) {
      const std::optional<Tensor>& constant = graph.value(value).constant;
      if (constant && constants.insert(value).second) explained.constants_bytes += constant->bytes();
    }
  }
  for (ValueId id : partition.boundaries[number].outputs)
    explained.outputs.push_back(explain_port(graph, graph.value(id)));
  const std::vector<CompiledRegion>& compiled = function.regions.regions;
  if (number < compiled.size()) explained.kernels = compiled[number].kernels;
  if (number < function.chosen.regions.size()) {
    explained.predicted = function.chosen.regions[number].predicted;
    explained.measured = function.chosen.regions[number].measured;
  }
  return explained;
}

std::optional<int64_t> known_time(int64_t nanoseconds) {
  return nanoseconds < too_long ? std::optional(nanoseconds) : std::nullopt;
}

/// Returns the targets for which at least one time is known.
std::vector<size_t> timed_targets(const SegmentCosts& costs, size_t count) {
  std::vector<size_t> targets;
  for (size_t t = 0; t < count; ++t) {
    if (std::ranges::any_of(costs.times, [&](const auto& times) { return times[t] < too_long; }))
      targets.push_back(t);
  }
  return targets;
}

void explain_segments(const CompiledFunction& function, Explanation& explanation) {
  const PlanningProblem& problem = *function.problem;
  const SegmentCosts& costs = *function.chosen.costs;
  const auto moves = price_moves(problem, function.chosen.plan.placement, costs);
  const std::vector<size_t> targets = timed_targets(costs, problem.targets.size());
  for (size_t target : targets) explanation.targets.push_back(problem.targets[target].name);
  for (size_t s = 0; s < costs.segments.size(); ++s) {
    ExplainedSegment segment;
    for (NodeId node : costs.segments[s]) {
      explanation.nodes[index(node)].segment = s;
      segment.nodes.push_back(index(node));
    }
    for (size_t target : targets) {
      segment.times.push_back(known_time(costs.times[s][target]));
      segment.moves.push_back(known_time(moves[s][target]));
    }
    explanation.segments.push_back(std::move(segment));
  }
}

void explain_plans(const PlanReport& report, Explanation& explanation) {
  std::map<int64_t, ExplainedPlan> plans;  // keyed by time; equal times belong to one plan with several names
  const auto add = [&](std::optional<int64_t> time, const std::string& name) {
    if (!time) return;
    const auto [at, is_new] = plans.try_emplace(*time, name, *time);
    if (!is_new) at->second.name += ", " + name;
  };
  add(report.as_placed, "as placed");
  for (const auto& [backend, time] : report.single_backend) add(time, "all in " + backend);
  if (report.shipped == PlanReport::Shipped::dissolved) add(report.measured, "islands dissolved");
  if (report.shipped == PlanReport::Shipped::mixed) {
    add(report.measured, "a mixture");
    plans.at(*report.measured).predicted = report.predicted;
  }
  for (const auto& [time, plan] : plans) explanation.plans.push_back(plan);
}

/// Explains times; must run after the rest is filled in.
void explain_costs(const CompiledFunction& function, Explanation& explanation) {
  const ChosenPlan& chosen = function.chosen;
  explanation.measured = chosen.measured;
  if (chosen.report) explain_plans(*chosen.report, explanation);
  if (chosen.costs)
    explain_segments(function, explanation);
  else if (!chosen.report)
    explanation.no_times = "only one plan is possible, so nothing was compared";
  else if (!chosen.report->disabled_reason.empty())
    explanation.no_times = chosen.report->disabled_reason;
  else
    explanation.no_times = "parts of the plans could not be timed";
}

ExplainedSlot explain_slot(const CompiledFunction& function, uint32_t number) {
  const PlanningProblem& problem = *function.problem;
  const DeviceSlot& slot = problem.slots[number];
  ExplainedSlot explained{slot.name, slot.kind, slot.device};
  if (!function.memory.empty()) explained.memory = function.memory[slot.space];
  if (const uint64_t limit = problem.memory_limit(slot.space); limit != no_limit)
    explained.memory_limit = limit;
  if (!slot.core_set) return explained;
  const auto has_one_pool = [&](const Region& region) {
    const PlacementTarget& target = problem.targets[region.target];
    return target.slot == number && target.backend->info().has_one_pool;
  };
  const bool is_per_process = std::ranges::any_of(function.chosen.plan.partition.regions, has_one_pool);
  explained.cores = is_per_process ? "per process" : "exact";
  return explained;
}

std::vector<ExplainedStage> explain_stages(const CompiledFunction& function) {
  const PlanningProblem& problem = *function.problem;
  const ChosenPlan& chosen = function.chosen;
  std::vector<ExplainedStage> stages;
  if (chosen.stages.empty()) return stages;
  for (const StageSteps& steps : list_stages(problem.graph, chosen.plan.partition, problem.space_of_target)) {
    const ChosenStage& known = chosen.stages[stages.size()];
    ExplainedStage& stage = stages.emplace_back();
    stage.slot = problem.slots[known.slot].name;
    stage.executors = known.executors;
    stage.frames = known.frames;
    stage.predicted = known.predicted;
    stage.measured = known.measured;
    for (const Step& step : steps.steps)
      if (step.kind == Step::Kind::run) stage.regions.push_back(step.region);
    for (ValueId id : steps.inputs) stage.inputs.push_back(problem.graph.value(id).name);
    for (ValueId id : steps.outputs) stage.outputs.push_back(problem.graph.value(id).name);
  }
  return stages;
}

ExplainedSpecialization explain_specialization(const SpecializedPlan& plan) {
  const Graph& graph = plan.problem->graph;
  ExplainedSpecialization explained{.size = graph.open_sizes[plan.symbol],
                                    .targets = targets_of(*plan.problem, plan.plan.partition),
                                    .measured = plan.measured};
  explained.size.range = {plan.min, plan.max};
  explained.size.tuned.clear();
  for (const OpenSize& size : graph.open_sizes) explained.sizes.emplace_back(size.name, size.tuned_size());
  return explained;
}

}  // namespace

Explanation explain_function(const CompiledFunction& function) {
  const PlanningProblem& problem = *function.problem;
  const Plan& plan = function.chosen.plan;
  const Graph& graph = problem.graph;
  Explanation explanation;
  for (ValueId id : graph.inputs) explanation.inputs.push_back(explain_port(graph, graph.value(id)));
  for (ValueId id : graph.outputs) explanation.outputs.push_back(explain_port(graph, graph.value(id)));
  for (uint32_t slot = 0; slot < problem.slots.size(); ++slot)
    explanation.slots.push_back(explain_slot(function, slot));
  explanation.symbols = function.bindings;
  explanation.open_sizes = function.problem->graph.open_sizes;
  if (plan.partition.region_of.size() != graph.nodes.size()) return explanation;
  for (size_t i = 0; i < graph.nodes.size(); ++i) explanation.nodes.push_back(explain_node(function, i));
  for (size_t r = 0; r < plan.partition.regions.size(); ++r)
    explanation.regions.push_back(explain_region(function, r));
  for (const Step& step : plan.steps) {
    if (step.kind != Step::Kind::copy) continue;
    const Value& value = graph.value(step.from.value);
    explanation.copies.push_back({value.name, problem.spaces[step.from.space], problem.spaces[step.to.space],
                                  value.type.fixed_bytes()});
  }
  explanation.flows = explain_flows(function);
  for (const AlternativePlan& alternative : function.chosen.alternatives)
    explanation.alternatives.push_back(
        {targets_of(problem, alternative.plan.partition), alternative.measured});
  for (const SpecializedPlan& one : function.chosen.specializations)
    explanation.specializations.push_back(explain_specialization(one));
  explanation.stages = explain_stages(function);
  explanation.notes = function.all_notes();
  explain_costs(function, explanation);
  return explanation;
}

void find_takers(const PlanningProblem& problem, Explanation& explanation) {
  for (uint32_t i = 0; i < explanation.nodes.size(); ++i) {
    // A backend is asked once per device model, however many slots it has.
    std::map<std::pair<const Target*, std::string_view>, bool> takes;
    for (const PlacementTarget& target : problem.targets) {
      const auto [known, is_new] = takes.try_emplace({target.backend, target.device.model()});
      if (is_new) known->second = target.backend->supports(problem.graph, NodeId{i}, target.device).yes;
      if (known->second && target.backend->name() != "nobody")
        explanation.nodes[i].takers.push_back(target.name);
    }
  }
}

}  // namespace intarsia
