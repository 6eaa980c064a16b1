#include "plan/stages/split_stages.h"

#include <algorithm>

#include "plan/stages/stage_graph.h"
#include "plan/stages/stage_ideals.h"
#include "plan/stages/stage_orders.h"

namespace intarsia {
namespace {

/// Counts the devices of each kind.
std::vector<double> count_devices(const StageProblem& problem) {
  std::vector<double> counts(problem.devices.size());
  for (const StageTeam& team : problem.teams)
    for (uint32_t member : team.members) counts[member] += team.count;
  return counts;
}

/// Returns the load of the node that takes longest on its best team: no split is below it.
double longest_node(const StageProblem& problem) {
  double longest = 0;
  for (const StageNode& node : problem.nodes) {
    StageWork work(problem.devices.size());
    work.add(node);
    const auto load = [&](const StageTeam& team) { return team_load(problem, team, work); };
    longest = std::max(longest, load(std::ranges::min(problem.teams, {}, load)));
  }
  return longest;
}

/// Replaces merged nodes in the split by their members.
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

double divided_load(const StageProblem& problem) {
  const size_t kinds = problem.devices.size();
  const std::vector<double> counts = count_devices(problem);
  std::vector<double> weights(kinds, 1);
  double best = 0;
  for (int round = 1; round <= 400; ++round) {
    double devices = 0, sum = 0;
    std::vector<double> share(kinds);
    for (size_t kind = 0; kind < kinds; ++kind) devices += weights[kind] * counts[kind];
    for (const StageNode& node : problem.nodes) {
      size_t least = 0;
      for (size_t kind = 1; kind < kinds; ++kind)
        if (weights[kind] * node.time[kind] < weights[least] * node.time[least]) least = kind;
      sum += weights[least] * node.time[least] / devices;
      share[least] += node.time[least] / std::max(counts[least], 1.0);
    }
    best = std::max(best, sum);
    const double most = std::max(std::ranges::max(share), 1e-300);
    for (size_t kind = 0; kind < kinds; ++kind) weights[kind] *= 1 + (share[kind] / most - 0.5) / (round + 1);
  }
  return best;
}

StageSplit split_stages(const StageProblem& problem) {
  StageSplit best;
  for (OrderSearch length : {OrderSearch::brief, OrderSearch::thorough}) {
    const ContractedProblem whole = contract_stage_problem(problem, best.max_load);
    if (StageSplit split = search_orders(whole.problem, length); split.max_load < best.max_load)
      best = with_members(std::move(split), whole);
    // Better splits keep more nodes together: none of their transfers takes longer than the best load so far.
    const ContractedProblem contracted = contract_stage_problem(problem, best.max_load);
    if (const auto exact = split_ideals(contracted.problem, best.max_load)) {
      if (!exact->stages.empty()) best = with_members(*exact, contracted);
      best.lower_bound = best.max_load;
      break;
    }
    best.lower_bound = std::max(divided_load(contracted.problem), longest_node(contracted.problem));
  }
  for (StageSplit::Stage& stage : best.stages) stage.load = stage_load(problem, stage.team, stage.nodes);
  best.lower_bound = std::min(best.lower_bound, best.max_load);
  return best;
}

}  // namespace intarsia
