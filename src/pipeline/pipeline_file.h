// Pipelines as JSON files (docs/pipelines.md).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/pipeline.h"
#include "runtime/bind_program.h"

namespace intarsia {

/// Content of a file; whoever makes the pipeline checks that programs, stages and ports exist.
struct PipelineFile {
  struct Session {
    std::string program, function;
    BindOptions binding = {};
  };
  struct Stage {
    std::string name;               // empty: all stages that the program was compiled with
    std::vector<Session> replicas;  // list of at least one
    StageOptions options = {};
  };
  std::vector<Stage> stages;
  std::vector<std::pair<PortName, PortName>> connections;  // from, to
  PipelineOptions options = {};
};

/// Parses a pipeline file. Errors name the entry.
Result<PipelineFile> parse_pipeline_file(std::string_view json);

}  // namespace intarsia
