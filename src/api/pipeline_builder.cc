#include "api/pipeline_builder.h"

#include <algorithm>

#include "api/callable_stage.h"
#include "api/handles.h"
#include "api/read_bind_options.h"
#include "api/struct_sizes.h"
#include "base/threads/pool_cores.h"
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

/// Makes the stage's sessions on one device. `executor`: number among the stage's own, where the caller does
/// not bind its slot.
Result<std::vector<std::unique_ptr<Stage>>> make_sessions(const std::string& name,
                                                          const intarsia_pipeline_builder::Source& source,
                                                          BindOptions options, uint32_t executor = 0) {
  const NamesPoolUser user(fmt::format("stage '{}'", name));
  const auto make = [&]() -> Result<std::vector<std::unique_ptr<Stage>>> {
    if (!source.stage) return make_session_stages(source.program, source.function, options);
    options.stage = StageChoice{source.function, *source.stage, executor};
    const fbs::ProgramT& description = source.program->description();
    const fbs::FunctionT& function =
        *description.functions[TRY(intarsia::find_function(description, source.function))];
    return make_session_stages(source.program, "", options, function.stages[*source.stage]->frames);
  };
  return with_context(make(), "stage '{}'", name);
}

void add_all(std::vector<std::unique_ptr<Stage>> sessions, std::vector<std::unique_ptr<Stage>>& replicas) {
  std::ranges::move(sessions, std::back_inserter(replicas));
}

/// Makes a replica on each of the stage's own executors. Those whose device is missing are out of service.
/// Errors: all are missing, or another error than a missing device.
Result<std::vector<std::unique_ptr<Stage>>> make_replicas(const std::string& name,
                                                          const intarsia_pipeline_builder::Source& source,
                                                          size_t count) {
  std::vector<std::unique_ptr<Stage>> replicas;
  std::vector<Error> missing;
  for (uint32_t executor = 0; executor < count; ++executor) {
    Result<std::vector<std::unique_ptr<Stage>>> made = make_sessions(name, source, {}, executor);
    if (made) {
      add_all(std::move(*made), replicas);
      continue;
    }
    missing.push_back(made.error());
    if (!is_absence(made.error())) return tl::unexpected(made.error());
    BindOptions options;
    options.stage = StageChoice{source.function, *source.stage, executor};
    replicas.push_back(TRY(make_absent_stage(source.program, options, made.error())));
  }
  if (missing.size() == count) return tl::unexpected(missing.front());
  return replicas;
}

/// Returns "stage0", or the next name that is free.
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

/// Connects outputs of the function that another of its stages reads to outputs of the pipeline; others
/// become those only if no stage reads them.
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

Result<StageOptions> read_stage_options(const intarsia_stage_options& given) {
  const intarsia_stage_options options = TRY(read_struct(given, "the stage's options"));
  StageOptions read{.queue = TRY(read_queue(options.queue)), .gathers = options.gather != 0};
  if (options.scatter_count > 0 && options.scatter == nullptr)
    return fail("its names to scatter are a null pointer");
  for (size_t i = 0; i < options.scatter_count; ++i) {
    if (options.scatter[i] == nullptr) return fail("output {} to scatter has no name", i);
    read.scatter.emplace_back(options.scatter[i]);
  }
  return read;
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

Result<std::optional<QueuePolicy>> read_queue(int32_t queue) {
  switch (queue) {
    case INTARSIA_QUEUE_DEFAULT:
      return std::nullopt;
    case INTARSIA_QUEUE_BLOCK:
      return QueuePolicy::block;
    case INTARSIA_QUEUE_DROP_OLDEST:
      return QueuePolicy::drop_oldest;
    case INTARSIA_QUEUE_LATEST:
      return QueuePolicy::latest;
    default:
      return fail("queue {} is none of INTARSIA_QUEUE_BLOCK, ...", queue);
  }
}

PipelineGraph::NamedStage* find_stage(intarsia_pipeline_builder& builder, const std::string& name) {
  const auto stage = std::ranges::find(builder.graph.stages, name, &PipelineGraph::NamedStage::name);
  return stage == builder.graph.stages.end() ? nullptr : &*stage;
}

Status add_program_stage(intarsia_pipeline_builder& builder, const std::string& name,
                         intarsia_pipeline_builder::Source source, const BindOptions& options) {
  TRY(check_new(builder, name));
  PipelineGraph::NamedStage named{name, TRY(make_sessions(name, source, options))};
  builder.graph.stages.push_back(std::move(named));
  builder.sources[name] = std::move(source);
  return {};
}

namespace {

/// Adds a function as one stage if the device of a stage is missing: a session goes on with an alternative.
Status add_whole_function(intarsia_pipeline_builder& builder,
                          const std::shared_ptr<const LoadedProgram>& program, const std::string& function,
                          const std::string& why) {
  const std::string name = free_name(builder);
  const NamesPoolUser user(fmt::format("stage '{}'", name));
  PipelineGraph::NamedStage stage{name, {}};
  stage.replicas = TRY(with_context(
      make_session_stages(program, function, {}, {}, "it is all stages in one: " + why), "stage '{}'", name));
  builder.graph.stages.push_back(std::move(stage));
  builder.sources[name] = {program, function};
  return {};
}

}  // namespace

Status add_stages_of(intarsia_pipeline_builder& builder, const std::shared_ptr<const LoadedProgram>& program,
                     const std::string& name) {
  const fbs::ProgramT& description = program->description();
  const fbs::FunctionT& function = *description.functions[TRY(intarsia::find_function(description, name))];
  if (function.stages.empty()) return add_program_stage(builder, free_name(builder), {program, name}, {});
  const size_t first = builder.graph.stages.size();
  const auto add_stages = [&]() -> Status {
    for (uint32_t i = 0; i < function.stages.size(); ++i) {
      const intarsia_pipeline_builder::Source source{program, function.name, i};
      PipelineGraph::NamedStage stage{free_name(builder), {}};
      stage.replicas = TRY(make_replicas(stage.name, source, function.stages[i]->executors.size()));
      builder.sources[stage.name] = source;
      builder.graph.stages.push_back(std::move(stage));
    }
    return {};
  };
  if (const Status added = add_stages(); !added) {
    while (builder.graph.stages.size() > first) {
      builder.sources.erase(builder.graph.stages.back().name);
      builder.graph.stages.pop_back();
    }
    if (!is_absence(added.error()) || function.alternatives.empty()) return added;
    return add_whole_function(builder, program, function.name, added.error().message);
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
  add_all(TRY(make_sessions(name, source, options)), stage->replicas);
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
    builder->graph.stages.reserve(builder->graph.stages.size() + 1);  // once the stage is made nothing fails
    builder->graph.stages.push_back(
        {name, TRY(with_context(make_callable_stages(about), "stage '{}'", name))});
    return {};
  });
}

intarsia_error* intarsia_pipeline_set_stage_options(intarsia_pipeline_builder* builder, const char* stage,
                                                    const intarsia_stage_options* options) {
  return guarded([&]() -> Status {
    if (builder == nullptr || stage == nullptr || options == nullptr)
      return fail("intarsia_pipeline_set_stage_options got a null pointer");
    PipelineGraph::NamedStage* const named = find_stage(*builder, stage);
    if (named == nullptr) return fail("there is no stage '{}' whose options could be set", stage);
    named->options = TRY(with_context(read_stage_options(*options), "stage '{}'", stage));
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
