// Numbers for open sizes at which plans are compared.
#pragma once

#include <memory>
#include <string_view>

#include "plan/planning_problem.h"

namespace intarsia {

/// Numbers for the open sizes of a graph, in their order.
using PlanningSizes = std::vector<int64_t>;

/// Returns the numbers at which plans are compared: those that the graph is planned with, then the same with
/// one size at another number that it is to be fastest at. Where nothing says which these are, they are the
/// smallest of 1 or more and the end of its range, and for a size other than the batch also 16 and 128.
///   batch: 1 to 32, seq: any size   ->   (1, 1); (32, 1); (1, 16), (1, 128)
std::vector<PlanningSizes> planning_sizes(const Graph& graph);

/// Returns the problem with the graph planned at these sizes.
std::shared_ptr<const PlanningProblem> at_sizes(const PlanningProblem& problem, const PlanningSizes& sizes);

/// Prints the sizes that the graph is planned with: "batch = 8, seq = 16".
std::string print_planned_sizes(const Graph& graph, std::string_view equals = " = ",
                                std::string_view separator = ", ");

}  // namespace intarsia
