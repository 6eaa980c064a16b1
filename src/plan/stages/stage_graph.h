// Graph of a stage problem: neighbors of nodes, orders, and nodes merged into one.
#pragma once

#include <optional>

#include "plan/stages/stage_problem.h"

namespace intarsia {

/// Values that each node makes, and those that it reads, each once.
struct StageNeighbors {
  std::vector<std::vector<uint32_t>> made, read;
};
StageNeighbors find_neighbors(const StageProblem& problem);

/// Orders the nodes, each after those whose values it reads; among those that could come next, the one with
/// the least `priority` does (if empty, the lowest number). Returns nullopt if there is a cycle.
std::optional<std::vector<uint32_t>> order_nodes(const StageProblem& problem,
                                                 const std::vector<double>& priority = {});

/// Smaller problem, and the nodes that each of its nodes stands for.
struct ContractedProblem {
  StageProblem problem;
  std::vector<std::vector<uint32_t>> members;
};

/// Merges nodes that every split of at most `most` load has in one stage, as far as is easily seen: those
/// that must be together, nodes on a path between them, ends of copies that take longer, and sources and
/// sinks that take no time and have only one neighbor.
ContractedProblem contract_stage_problem(const StageProblem& problem, double most);

}  // namespace intarsia
