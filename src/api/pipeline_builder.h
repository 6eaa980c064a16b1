// Builder that collects the parts of a pipeline.
#pragma once

#include <map>

#include "include/intarsia/intarsia_pipeline.h"
#include "pipeline/pipeline.h"
#include "runtime/bind_program.h"

struct intarsia_pipeline_builder {
  /// Source of a stage, for its replicas.
  struct Source {
    std::shared_ptr<const intarsia::LoadedProgram> program;
    std::string function;
    std::optional<uint32_t> stage = {};  // stage of the function; nullopt: all of it
  };

  intarsia::PipelineGraph graph;
  std::map<std::string, Source> sources;   // sources of stages that are programs, by their names
  intarsia::PipelineOptions options = {};  // defaults of the options of its start
};

namespace intarsia::api {

/// Finds the stage of this name; null if there is none.
PipelineGraph::NamedStage* find_stage(intarsia_pipeline_builder& builder, const std::string& name);

/// Reads one of INTARSIA_QUEUE_...; nullopt for INTARSIA_QUEUE_DEFAULT. Errors: it is none of these.
Result<std::optional<QueuePolicy>> read_queue(int32_t queue);

/// Adds a stage that runs a program. Errors: as intarsia_pipeline_add_program().
Status add_program_stage(intarsia_pipeline_builder& builder, const std::string& stage,
                         intarsia_pipeline_builder::Source source, const BindOptions& options);
/// Adds the stages of a function, each with its replicas; a function without stages is one.
Status add_stages_of(intarsia_pipeline_builder& builder, const std::shared_ptr<const LoadedProgram>& program,
                     const std::string& function);
/// Adds a replica of the stage's own program.
Status add_replica(intarsia_pipeline_builder& builder, const std::string& stage, const BindOptions& options);
/// Adds a replica of this source, which must have the stage's ports.
Status add_replica(intarsia_pipeline_builder& builder, const std::string& stage,
                   const intarsia_pipeline_builder::Source& source, const BindOptions& options);

}  // namespace intarsia::api
