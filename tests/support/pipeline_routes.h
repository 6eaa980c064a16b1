// Routes of values through the stages of a pipeline.
#pragma once

#include <string>

#include "pipeline/pipeline_graph.h"

namespace intarsia {

/// Returns the error of finding the routes; "none" if they are found.
inline std::string error_of(const PipelineGraph& graph) {
  const auto routes = find_routes(graph);
  return routes ? "none" : routes.error().message;
}

}  // namespace intarsia
