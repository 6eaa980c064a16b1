#include "api/pipeline_file.h"

#include <filesystem>

#include "api/run_backends.h"
#include "base/mapped_file.h"
#include "pipeline/pipeline_file.h"

namespace intarsia::api {
namespace {

Result<PipelineFile> read_file(const std::string& path) {
  const MappedFile file = TRY(map_file(path));
  return parse_pipeline_file({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
}

Status add_stage(intarsia_pipeline_builder& builder, const PipelineFile::Stage& stage,
                 const std::filesystem::path& folder) {
  const auto program = TRY(load_program((folder / stage.program).string(), run_backends()));
  if (stage.name.empty()) return add_stages_of(builder, program, stage.function);
  TRY(add_program_stage(builder, stage.name, {program, stage.function}, stage.replicas[0]));
  for (size_t i = 1; i < stage.replicas.size(); ++i) TRY(add_replica(builder, stage.name, stage.replicas[i]));
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
    builder.depth = file.depth;
    builder.timeout_ns = file.timeout_ns;
    return {};
  };
  return with_context(read(), "pipeline '{}'", path);
}

}  // namespace intarsia::api
