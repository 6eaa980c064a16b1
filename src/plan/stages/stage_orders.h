// Stages that are ranges of an order of the nodes: the best ones of an order, and a search for a good order.
#pragma once

#include "plan/stages/stage_problem.h"

namespace intarsia {

/// Finds the split with the smallest load into ranges of this order, by dynamic programming over where a
/// stage ends and how many teams of each kind are in use (Tarnawski et al., "Efficient Algorithms for Device
/// Placement of DNN Graph Operators", 2020, section 5). Considers only splits of less than `most` load.
StageSplit split_order(const StageProblem& problem, const std::vector<uint32_t>& order,
                       double most = cannot_run);

/// Length of a search.
enum class OrderSearch : uint8_t {
  brief,    // tries a few orders
  thorough  // takes a few seconds
};

/// Finds the best split of many orders: some that are natural, then variations of the best ones (Archer et
/// al., "Practical Performance Guarantees for Pipelined DNN Inference", 2024, section 4). The same problem
/// has the same result.
StageSplit search_orders(const StageProblem& problem, OrderSearch length);

}  // namespace intarsia
