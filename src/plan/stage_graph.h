// The graph of a stage problem: neighbors of nodes, orders, and nodes merged into one.
#pragma once

#include <optional>

#include "plan/stage_problem.h"

namespace intarsia {

/// Of each node: the values that it makes, and those that it reads, each once.
struct StageNeighbors {
  std::vector<std::vector<uint32_t>> made, read;
};
StageNeighbors find_neighbors(const StageProblem& problem);

/// The nodes, each after those whose values it reads; of those that could come next the one with the least
/// `priority` (empty: the lowest number) does. Nothing: there is a cycle.
std::optional<std::vector<uint32_t>> order_nodes(const StageProblem& problem,
                                                 const std::vector<double>& priority = {});

/// A smaller problem, and the nodes that each of its nodes stands for.
struct ContractedProblem {
  StageProblem problem;
  std::vector<std::vector<uint32_t>> members;
};

/// Merges nodes that every split of at most `most` load has on one device, as far as is easily seen: those
/// that must be together, what lies on a path between them, ends of transfers that take longer, and sources
/// and sinks that take no time.
ContractedProblem contract_stage_problem(const StageProblem& problem, double most);

}  // namespace intarsia
