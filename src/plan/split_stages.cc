#include "plan/split_stages.h"

#include <algorithm>

#include "plan/stage_graph.h"
#include "plan/stage_ideals.h"
#include "plan/stage_orders.h"

namespace intarsia {
namespace {

/// The work of all nodes as if it could be divided among the devices: for any weights of the kinds of
/// devices, of sum one over all devices, the sum over nodes of their least weighted time (a Lagrangian dual);
/// weights are searched by moving some from kinds that have less than their share to kinds that have more.
double divided_work(const StageProblem& problem) {
  const size_t kinds = problem.devices.size();
  std::vector<double> weights(kinds, 1);
  double best = 0;
  for (int round = 1; round <= 400; ++round) {
    double devices = 0, sum = 0;
    std::vector<double> share(kinds);
    for (size_t kind = 0; kind < kinds; ++kind) devices += weights[kind] * problem.devices[kind].count;
    for (const StageNode& node : problem.nodes) {
      size_t least = 0;
      for (size_t kind = 1; kind < kinds; ++kind)
        if (weights[kind] * node.time[kind] < weights[least] * node.time[least]) least = kind;
      sum += weights[least] * node.time[least] / devices;
      share[least] += node.time[least] / problem.devices[least].count;
    }
    best = std::max(best, sum);
    const double most = std::max(std::ranges::max(share), 1e-300);
    for (size_t kind = 0; kind < kinds; ++kind) weights[kind] *= 1 + (share[kind] / most - 0.5) / (round + 1);
  }
  return best;
}

/// No device has less than the node that takes longest.
double longest_node(const StageProblem& problem) {
  double longest = 0;
  for (const StageNode& node : problem.nodes) longest = std::max(longest, std::ranges::min(node.time));
  return longest;
}

double bound_of(const StageProblem& problem) {
  return std::max(divided_work(problem), longest_node(problem));
}

/// From a split of merged nodes.
StageSplit with_members(StageSplit split, const ContractedProblem& contracted) {
  for (StageSplit::Stage& stage : split.stages) {
    std::vector<uint32_t> nodes;
    for (uint32_t node : stage.nodes)
      nodes.insert(nodes.end(), contracted.members[node].begin(), contracted.members[node].end());
    std::ranges::sort(nodes);
    stage.nodes = std::move(nodes);
  }
  return split;
}

}  // namespace

StageSplit split_stages(const StageProblem& problem) {
  StageSplit best;
  for (OrderSearch length : {OrderSearch::brief, OrderSearch::thorough}) {
    const ContractedProblem whole = contract_stage_problem(problem, best.max_load);
    if (StageSplit split = search_orders(whole.problem, length); split.max_load < best.max_load)
      best = with_members(std::move(split), whole);
    // What is better keeps more nodes together: no transfer takes longer than the best load so far.
    const ContractedProblem contracted = contract_stage_problem(problem, best.max_load);
    if (const auto exact = split_ideals(contracted.problem, best.max_load)) {
      if (!exact->stages.empty()) best = with_members(*exact, contracted);
      best.lower_bound = best.max_load;
      break;
    }
    best.lower_bound = bound_of(contracted.problem);
  }
  for (StageSplit::Stage& stage : best.stages) stage.load = stage_load(problem, stage.kind, stage.nodes);
  best.lower_bound = std::min(best.lower_bound, best.max_load);
  return best;
}

}  // namespace intarsia
