#include "api/pipeline_file.h"

#include <filesystem>

#include "api/run_backends.h"
#include "base/files/mapped_file.h"
#include "pipeline/pipeline_file.h"

namespace intarsia::api {
namespace {

Result<PipelineFile> read_file(const std::string& path) {
  const MappedFile file = TRY(map_file(path));
  return parse_pipeline_file({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
}

Status add_stage(intarsia_pipeline_builder& builder, const PipelineFile::Stage& stage,
                 const std::filesystem::path& folder) {
  const auto load = [&](const PipelineFile::Session& session) {
    return load_program((folder / session.program).string(), run_backends());
  };
  const PipelineFile::Session& first = stage.replicas[0];
  const auto program = TRY(load(first));
  if (stage.name.empty()) return add_stages_of(builder, program, first.function);
  TRY(add_program_stage(builder, stage.name, {program, first.function}, first.binding));
  find_stage(builder, stage.name)->options = stage.options;
  for (size_t i = 1; i < stage.replicas.size(); ++i) {
    const PipelineFile::Session& other = stage.replicas[i];
    const auto loaded = other.program == first.program ? program : TRY(load(other));
    TRY(add_replica(builder, stage.name, {loaded, other.function}, other.binding));
  }
  return {};
}

}  // namespace

Status read_pipeline_file(intarsia_pipeline_builder& builder, const std::string& path) {
  const auto read = [&]() -> Status {
    const PipelineFile file = TRY(read_file(path));
    for (const PipelineFile::Stage& stage : file.stages)
      TRY(add_stage(builder, stage, std::filesystem::path(path).parent_path()));
    PipelineGraph& graph = builder.graph;
    graph.connections.insert(graph.connections.end(), file.connections.begin(), file.connections.end());
    graph.connect_by_name();
    builder.options = file.options;
    return {};
  };
  return with_context(read(), "pipeline '{}'", path);
}

}  // namespace intarsia::api
