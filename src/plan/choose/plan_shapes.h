// Shapes of a model's inputs in a plan file: the sizes that were open, with their ranges.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/requested_shape.h"
#include "graph/graph.h"

namespace intarsia {

/// Shapes by input. An open size without a name follows from the others.
using PlanShapes = std::map<std::string, RequestedShape>;

/// Returns the shapes of the inputs of a graph whose sizes were bound; of known rank and tensors only.
PlanShapes save_shapes(const Graph& graph);

/// Prints {"x": [{"size": "batch", "min": 1, "max": 32, "fastest_at": [1, 8]}, 3, null]}; null: it follows
/// from the others, and a range without an end has neither.
nlohmann::ordered_json print_plan_shapes(const PlanShapes& shapes);

/// Reads what print_plan_shapes prints. `where` names the function in errors: a size, a range or a list that
/// makes no sense.
Result<PlanShapes> read_plan_shapes(const nlohmann::ordered_json& json, const std::string& where);

/// Returns the plan's shapes and, of inputs that it does not have, those given (--shape). Errors: an input
/// that the graph lacks, a rank or a fixed size other than the graph's (the plan is of another model); a
/// given shape that contradicts the plan's. What a given shape leaves open, the plan's may limit.
Result<PlanShapes> take_plan_shapes(const Graph& graph, const PlanShapes& of_plan, const PlanShapes& given);

}  // namespace intarsia
