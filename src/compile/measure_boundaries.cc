#include "compile/measure_boundaries.h"

#include <algorithm>

#include "compile/measure_plans.h"
#include "plan/costs/boundary_prices.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"

namespace intarsia {
namespace {

constexpr int turns = 4;                                   // regions of each target
constexpr int64_t channels = 64, few = 1, many = 56 * 56;  // sizes of a value

/// Makes a chain of Transposes between [channels, pixels] and [pixels, channels].
Graph make_chain(size_t length, int64_t pixels) {
  Graph graph;
  graph.opsets = {{"", 18}};
  const auto type = [&](bool is_swapped) {
    return ValueType{DType::f32, is_swapped ? SymbolicShape{Dim(pixels), Dim(channels)}
                                            : SymbolicShape{Dim(channels), Dim(pixels)}};
  };
  graph.inputs.push_back(graph.add_value("v0", type(false)));
  for (size_t i = 0; i < length; ++i) {
    Node node{
        .name = fmt::format("transpose{}", i), .op = "Transpose", .version = 18, .inputs = {ValueId(i)}};
    node.attributes.set("perm", std::vector<int64_t>{1, 0});
    node.outputs = {graph.add_value(fmt::format("v{}", i + 1), type(i % 2 == 0))};
    graph.add_node(std::move(node));
  }
  graph.outputs.push_back(ValueId(length));
  return graph;
}

PlanningProblem problem_of_chain(const PlanningProblem& like, size_t length, int64_t pixels) {
  return {.graph = make_chain(length, pixels),
          .slots = like.slots,
          .spaces = like.spaces,
          .targets = like.targets,
          .space_of_target = like.space_of_target};
}

/// Places the nodes in turns, each a region of its own.
Plan take_turns(const PlanningProblem& problem, const std::vector<uint32_t>& targets) {
  const size_t nodes = problem.graph.nodes.size();
  std::vector<uint32_t> target_of;
  std::vector<Region> regions;
  for (size_t i = 0; i < nodes; ++i) {
    target_of.push_back(targets[i % targets.size()]);
    regions.push_back({target_of.back(), {NodeId(i)}});
  }
  Plan plan{.placement = Placement(target_of)};
  plan.partition = number_regions(problem.graph, std::move(regions));
  plan.steps = insert_copies(problem.graph, plan.partition, problem.space_of_target);
  return plan;
}

/// Times of a region of each target, its step included.
struct TurnTimes {
  std::vector<int64_t> nanoseconds;
  bool is_disturbed = false;
};

Result<TurnTimes> time_turns(RegionCompiler& compiler, const std::vector<uint32_t>& targets, int64_t pixels) {
  const PlanningProblem problem = problem_of_chain(compiler.problem(), turns * targets.size(), pixels);
  RefusedRegions refused;
  RegionCompiler of_chain(problem, compiler.request(), compiler.services(), {}, refused);
  const Plan plan = take_turns(problem, targets);
  const PlanTimes times = TRY(TRY(measure_plans({&plan}, problem, of_chain)).front());
  if (times.regions.size() != plan.partition.regions.size()) return fail("regions were not timed");
  int64_t in_regions = 0;
  for (const Timing& region : times.regions) in_regions = add_times(in_regions, region.nanoseconds);
  if (in_regions >= too_long || times.whole.nanoseconds >= too_long) return fail("the chain takes too long");
  const int64_t step =
      std::max<int64_t>(times.whole.nanoseconds - in_regions, 0) / static_cast<int64_t>(times.regions.size());
  TurnTimes result{.is_disturbed = times.whole.is_disturbed};
  for (size_t t = 0; t < targets.size(); ++t) {
    std::vector<int64_t> of_target;
    for (size_t r = t; r < times.regions.size(); r += targets.size())
      of_target.push_back(times.regions[r].nanoseconds);
    std::ranges::nth_element(of_target, of_target.begin() + turns / 2);
    result.nanoseconds.push_back(of_target[turns / 2] + step);
  }
  return result;
}

/// Checks whether the target runs here, in the host's memory, and takes the nodes of a chain.
bool can_be_measured(const PlanningProblem& problem, uint32_t target, const Graph& chain) {
  const PlacementTarget& at = problem.targets[target];
  const bool is_here = problem.space_of_target[target] == host_memory &&
                       problem.slots[at.slot].declared_times.empty() && !at.backend->info().is_plugin;
  return is_here && at.backend->supports(chain, NodeId(0), at.device).yes;
}

/// Measures the prices of boundaries of `targets` into `prices`; keeps them unless other processes took
/// cores.
Status measure(RegionCompiler& compiler, const std::vector<uint32_t>& targets,
               std::vector<BoundaryPrice>& prices) {
  const TurnTimes calls = TRY(time_turns(compiler, targets, few)),
                  transfers = TRY(time_turns(compiler, targets, many));
  constexpr double bytes = channels * (many - few) * sizeof(float);
  const bool is_disturbed = calls.is_disturbed || transfers.is_disturbed;
  if (is_disturbed) compiler.tuning().add_disturbed_boundaries(targets.size());
  for (size_t t = 0; t < targets.size(); ++t) {
    const int64_t call = calls.nanoseconds[t], more = transfers.nanoseconds[t] - call;
    BoundaryPrice& price = prices[targets[t]];
    price = {call, static_cast<double>(std::max<int64_t>(more, 0)) / bytes};
    if (is_disturbed) continue;
    add_boundary(compiler.problem(), targets[t], compiler.request().threads, price,
                 *compiler.tuning().costs());
  }
  return {};
}

}  // namespace

std::vector<BoundaryPrice> price_boundaries(RegionCompiler& compiler) {
  const PlanningProblem& problem = compiler.problem();
  const int threads = compiler.request().threads;
  CostTable& table = *compiler.tuning().costs();
  const Graph chain = make_chain(1, few);
  std::vector<uint32_t> unknown;
  std::vector<BoundaryPrice> prices;
  for (uint32_t target = 0; target < problem.targets.size(); ++target) {
    const std::optional<BoundaryPrice> known = find_boundary(problem, target, threads, table);
    prices.push_back(known.value_or(assumed_boundary(problem.targets[target])));
    if (!known && can_be_measured(problem, target, chain)) unknown.push_back(target);
  }
  // What cannot be measured, or not now, keeps its assumed price.
  if (!unknown.empty()) static_cast<void>(measure(compiler, unknown, prices));
  return prices;
}

}  // namespace intarsia
