// Sizes that bodies are planned with, and values that they and their parts are timed with.
#pragma once

#include <map>
#include <memory>

#include "plan/planning_problem.h"
#include "rewrite/rewrite_model.h"

namespace intarsia {

/// Adds the numbers that symbols have where a value of this type has the shape.
void add_sizes(const ValueType& type, const Shape& shape, std::map<std::string, int64_t>& sizes);

/// Returns the sizes that symbols have where inputs are these values, those of inputs that are missing left
/// out.
std::map<std::string, int64_t> sizes_of(const Graph& graph, const std::vector<NamedValue>& values);

/// Returns the problem planned with these sizes. Others are planned with what they are to be fastest at, or
/// else, but for the batch, with 128: sequences of one element, which are the smallest, tell nothing.
std::shared_ptr<const PlanningProblem> planned_with(const PlanningProblem& problem,
                                                    const std::map<std::string, int64_t>& sizes);

/// Returns values for the graph's inputs: those given, and others at the sizes that it is planned with, as
/// far as they can be filled.
std::vector<NamedValue> sample_inputs(const Graph& graph, const std::vector<NamedValue>& given);

}  // namespace intarsia
