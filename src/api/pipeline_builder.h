// What a pipeline is made of, so far.
#pragma once

#include <map>

#include "include/intarsia/intarsia_pipeline.h"
#include "pipeline/pipeline.h"
#include "runtime/bind_program.h"

struct intarsia_pipeline_builder {
  /// To make replicas of a stage.
  struct Source {
    std::shared_ptr<const intarsia::LoadedProgram> program;
    std::string function;
    std::optional<uint32_t> stage = {};  // of the function; nothing: all of it
  };

  intarsia::PipelineGraph graph;
  std::map<std::string, Source> sources;  // of stages that are programs, by their names
  size_t depth = 2;
  int64_t timeout_ns = 0;
};

namespace intarsia::api {

/// Where the builder has a stage of this name.
PipelineGraph::NamedStage* find_stage(intarsia_pipeline_builder& builder, const std::string& name);

/// Error: as intarsia_pipeline_add_program.
Status add_program_stage(intarsia_pipeline_builder& builder, const std::string& stage,
                         intarsia_pipeline_builder::Source source, const BindOptions& options);
/// The stages of a function, each with its replicas; a function without stages is one.
Status add_stages_of(intarsia_pipeline_builder& builder, const std::shared_ptr<const LoadedProgram>& program,
                     const std::string& function);
/// Of the stage's own program.
Status add_replica(intarsia_pipeline_builder& builder, const std::string& stage, const BindOptions& options);
/// Of this one, which must have the stage's ports.
Status add_replica(intarsia_pipeline_builder& builder, const std::string& stage,
                   const intarsia_pipeline_builder::Source& source, const BindOptions& options);

}  // namespace intarsia::api
