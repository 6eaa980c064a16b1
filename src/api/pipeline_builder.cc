#include "api/pipeline_builder.h"

#include <algorithm>

#include "api/callable_stage.h"
#include "api/handles.h"
#include "api/read_bind_options.h"
#include "api/struct_sizes.h"
#include "base/pool_cores.h"
#include "pipeline/session_stage.h"
#include "runtime/find_function.h"

namespace intarsia::api {
namespace {

Status check_new(intarsia_pipeline_builder& builder, const std::string& stage) {
  if (stage.empty() || stage.contains('.'))
    return fail("stage '{}': want a name without dots, as files write \"STAGE.PORT\"", stage);
  if (find_stage(builder, stage) != nullptr) return fail("there is a stage '{}' already", stage);
  return {};
}

/// `executor`: which of the stage's own, where the caller does not bind its slot.
Result<std::unique_ptr<Stage>> make_stage(const std::string& name,
                                          const intarsia_pipeline_builder::Source& source,
                                          BindOptions options, uint32_t executor = 0) {
  const NamesPoolUser user(fmt::format("stage '{}'", name));
  const auto make = [&]() -> Result<std::unique_ptr<Stage>> {
    if (!source.stage) return make_session_stage(TRY(bind_program(source.program, options)), source.function);
    options.stage = StageChoice{source.function, *source.stage, executor};
    return make_session_stage(TRY(bind_program(source.program, options)), "");
  };
  return with_context(make(), "stage '{}'", name);
}

/// "stage0", or the next that is free.
std::string free_name(intarsia_pipeline_builder& builder) {
  size_t number = 0;
  while (find_stage(builder, fmt::format("stage{}", number)) != nullptr) ++number;
  return fmt::format("stage{}", number);
}

Result<PipelineGraph::NamedStage*> stage_to_replicate(intarsia_pipeline_builder& builder,
                                                      const std::string& name) {
  PipelineGraph::NamedStage* const stage = find_stage(builder, name);
  if (stage == nullptr) return fail("there is no stage '{}' to replicate", name);
  return stage;
}

bool has_port(std::span<const StagePort> ports, const std::string& name) {
  return std::ranges::find(ports, name, &StagePort::name) != ports.end();
}

/// An output of the function that another stage reads is the pipeline's, too; of the others that is a matter
/// of who reads them.
void connect_outputs(PipelineGraph& graph, size_t first, const fbs::FunctionT& function) {
  const auto added = std::span(graph.stages).subspan(first);
  for (const uint32_t output : function.outputs) {
    const std::string& name = function.values[output]->name;
    const auto reads = [&](const auto& stage) { return has_port(stage.replicas[0]->inputs(), name); };
    const auto makes = [&](const auto& stage) { return has_port(stage.replicas[0]->outputs(), name); };
    const auto maker = std::ranges::find_if(added, makes);
    if (maker != added.end() && std::ranges::any_of(added, reads))
      graph.connections.push_back({{maker->name, name}, {"", name}});
  }
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

PipelineGraph::NamedStage* find_stage(intarsia_pipeline_builder& builder, const std::string& name) {
  const auto stage = std::ranges::find(builder.graph.stages, name, &PipelineGraph::NamedStage::name);
  return stage == builder.graph.stages.end() ? nullptr : &*stage;
}

Status add_program_stage(intarsia_pipeline_builder& builder, const std::string& name,
                         intarsia_pipeline_builder::Source source, const BindOptions& options) {
  TRY(check_new(builder, name));
  std::unique_ptr<Stage> stage = TRY(make_stage(name, source, options));
  PipelineGraph::NamedStage named{name, {}};
  named.replicas.push_back(std::move(stage));
  builder.graph.stages.push_back(std::move(named));
  builder.sources[name] = std::move(source);
  return {};
}

Status add_stages_of(intarsia_pipeline_builder& builder, const std::shared_ptr<const LoadedProgram>& program,
                     const std::string& name) {
  const fbs::ProgramT& description = program->description();
  const fbs::FunctionT& function = *description.functions[TRY(intarsia::find_function(description, name))];
  if (function.stages.empty()) return add_program_stage(builder, free_name(builder), {program, name}, {});
  const size_t first = builder.graph.stages.size();
  for (uint32_t i = 0; i < function.stages.size(); ++i) {
    const intarsia_pipeline_builder::Source source{program, function.name, i};
    PipelineGraph::NamedStage stage{free_name(builder), {}};
    for (uint32_t executor = 0; executor < function.stages[i]->executors.size(); ++executor)
      stage.replicas.push_back(TRY(make_stage(stage.name, source, {}, executor)));
    builder.sources[stage.name] = source;
    builder.graph.stages.push_back(std::move(stage));
  }
  connect_outputs(builder.graph, first, function);
  return {};
}

Status add_replica(intarsia_pipeline_builder& builder, const std::string& name, const BindOptions& options) {
  TRY(stage_to_replicate(builder, name));
  const auto source = builder.sources.find(name);
  if (source == builder.sources.end())
    return fail("stage '{}' is a function: give it a thread_count instead of replicas", name);
  return add_replica(builder, name, source->second, options);
}

Status add_replica(intarsia_pipeline_builder& builder, const std::string& name,
                   const intarsia_pipeline_builder::Source& source, const BindOptions& options) {
  PipelineGraph::NamedStage* const stage = TRY(stage_to_replicate(builder, name));
  stage->replicas.push_back(TRY(make_stage(name, source, options)));
  return {};
}

}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_pipeline_builder_create(intarsia_pipeline_builder** builder) {
  return guarded([&]() -> Status {
    if (builder == nullptr) return fail("intarsia_pipeline_builder_create got a null pointer");
    *builder = new intarsia_pipeline_builder;
    return {};
  });
}

void intarsia_pipeline_builder_release(intarsia_pipeline_builder* builder) { delete builder; }

intarsia_error* intarsia_pipeline_add_program(intarsia_pipeline_builder* builder, const char* stage,
                                              const intarsia_program* program, const char* function,
                                              const intarsia_bind_options* options) {
  return guarded([&]() -> Status {
    if (builder == nullptr || stage == nullptr || program == nullptr)
      return fail("intarsia_pipeline_add_program got a null pointer");
    const BindOptions bind = TRY(with_context(read_bind_options(options), "stage '{}'", stage));
    return add_program_stage(*builder, stage, {program->loaded, text_or_empty(function)}, bind);
  });
}

intarsia_error* intarsia_pipeline_add_stages(intarsia_pipeline_builder* builder,
                                             const intarsia_program* program, const char* function) {
  return guarded([&]() -> Status {
    if (builder == nullptr || program == nullptr)
      return fail("intarsia_pipeline_add_stages got a null pointer");
    return add_stages_of(*builder, program->loaded, text_or_empty(function));
  });
}

intarsia_error* intarsia_pipeline_add_replica(intarsia_pipeline_builder* builder, const char* stage,
                                              const intarsia_bind_options* options) {
  return guarded([&]() -> Status {
    if (builder == nullptr || stage == nullptr)
      return fail("intarsia_pipeline_add_replica got a null pointer");
    return add_replica(*builder, stage, TRY(with_context(read_bind_options(options), "stage '{}'", stage)));
  });
}

intarsia_error* intarsia_pipeline_add_replica_program(intarsia_pipeline_builder* builder, const char* stage,
                                                      const intarsia_program* program, const char* function,
                                                      const intarsia_bind_options* options) {
  return guarded([&]() -> Status {
    if (builder == nullptr || stage == nullptr || program == nullptr)
      return fail("intarsia_pipeline_add_replica_program got a null pointer");
    const BindOptions bind = TRY(with_context(read_bind_options(options), "stage '{}'", stage));
    return add_replica(*builder, stage, {program->loaded, text_or_empty(function)}, bind);
  });
}

intarsia_error* intarsia_pipeline_add_function(intarsia_pipeline_builder* builder,
                                               const intarsia_stage_function* stage) {
  return guarded([&]() -> Status {
    if (builder == nullptr || stage == nullptr)
      return fail("intarsia_pipeline_add_function got a null pointer");
    const intarsia_stage_function about = TRY(read_struct(*stage, "the stage"));
    const std::string name = text_or_empty(about.name);
    TRY(check_new(*builder, name));
    builder->graph.stages.reserve(builder->graph.stages.size() + 1);  // from here nothing fails
    builder->graph.stages.push_back(
        {name, TRY(with_context(make_callable_stages(about), "stage '{}'", name))});
    return {};
  });
}

intarsia_error* intarsia_pipeline_connect(intarsia_pipeline_builder* builder, const char* from,
                                          const char* output, const char* to, const char* input) {
  return guarded([&]() -> Status {
    if (builder == nullptr || output == nullptr || input == nullptr)
      return fail("intarsia_pipeline_connect got a null pointer");
    builder->graph.connections.push_back({{text_or_empty(from), output}, {text_or_empty(to), input}});
    return {};
  });
}

intarsia_error* intarsia_pipeline_connect_by_name(intarsia_pipeline_builder* builder) {
  return guarded([&]() -> Status {
    if (builder == nullptr) return fail("intarsia_pipeline_connect_by_name got a null pointer");
    builder->graph.connect_by_name();
    return {};
  });
}
