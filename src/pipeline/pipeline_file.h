// Pipelines as JSON files (docs/pipelines.md).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/pipeline_graph.h"
#include "runtime/bind_program.h"

namespace intarsia {

/// What a file says; whether programs, stages and ports exist is seen by who makes the pipeline.
struct PipelineFile {
  struct Session {
    std::string program, function;
    BindOptions binding = {};
  };
  struct Stage {
    std::string name;               // empty: all stages that the program was compiled with
    std::vector<Session> replicas;  // at least one
  };
  std::vector<Stage> stages;
  std::vector<std::pair<PortName, PortName>> connections;  // from, to
  size_t depth = 2;
  int64_t timeout_ns = 0;
};

/// Errors name the entry.
Result<PipelineFile> parse_pipeline_file(std::string_view json);

}  // namespace intarsia
