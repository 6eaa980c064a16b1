// Part of the C API that runs pipelines.
#include <algorithm>
#include <mutex>
#include <set>

#include "api/callable_stage.h"
#include "api/external_tensor.h"
#include "api/handles.h"
#include "api/pipeline_builder.h"
#include "api/pipeline_file.h"
#include "api/struct_sizes.h"

struct intarsia_pipeline {
  std::unique_ptr<intarsia::Pipeline> pipeline;
  std::vector<std::string> stages;  // names of the stages
  // Texts that describe replicas, which callers may still use.
  mutable std::set<std::string> texts;
  mutable std::mutex texts_mutex;

  const char* keep(const std::string& text) const {
    const std::lock_guard lock(texts_mutex);
    return texts.insert(text).first->c_str();
  }
};

namespace intarsia::api {
namespace {

/// Frame that the caller pushes, in the runtime's form; refers to the caller's tensors.
struct GivenFrame {
  std::vector<NamedTensor> inputs;
  std::shared_ptr<Release> owner;  // null: inputs are copied
};

Result<GivenFrame> read_frame(const intarsia_tensor* inputs, size_t count,
                              const intarsia_frame_owner* owner) {
  TRY(check_sizes("input", inputs, count));
  GivenFrame frame;
  if (owner != nullptr) frame.owner = std::make_shared<Release>(owner->release, owner->user);
  for (size_t i = 0; i < count; ++i) {
    NamedTensor& named = frame.inputs.emplace_back();
    Tensor strings;
    TRY(read_input(element(inputs, i), nullptr, nullptr, named, strings));
    TRY(with_context(checked_elements(named.tensor.shape), "input '{}'", named.name));
    if (named.tensor.dtype == DType::undefined)
      return fail("input '{}' has dtype 0, want one of INTARSIA_F32, ...", named.name);
    if (named.tensor.data == nullptr && named.tensor.bytes() > 0)
      return fail("input '{}' has no data", named.name);
    if (named.tensor.dtype == DType::string)
      named.owner = strings.owner();
    else
      named.owner = frame.owner;
  }
  return frame;
}

std::string print_type(const TensorView& tensor) {
  return fmt::format("{} {}", dtype_name(tensor.dtype), print_shape(tensor.shape));
}

Status write_frame_output(const FrameValue& value, intarsia_tensor& to) {
  NamedTensor buffer;
  TRY(read_output(to, buffer));
  if (buffer.tensor.data == nullptr)
    return write_output({to.name, value.tensor, value.owner}, nullptr, nullptr, to);
  if (buffer.tensor.dtype != value.tensor.dtype || buffer.tensor.shape != value.tensor.shape)
    return fail("output '{}' is {}, but its buffer is for {}", to.name, print_type(value.tensor),
                print_type(buffer.tensor));
  copy_elements(value.tensor, buffer.tensor);
  return {};
}

/// Writes the outputs that the caller requests; none has an owner after an error.
Status write_outputs(const PipelineRoutes& routes, const PoppedFrame& popped, intarsia_tensor* outputs,
                     size_t count) {
  for (size_t i = 0; i < count; ++i) {
    intarsia_tensor& to = element(outputs, i);
    const auto output = std::ranges::find(routes.outputs, to.name, &PipelineRoutes::Output::name);
    const FrameValue& value = popped.outputs[size_t(output - routes.outputs.begin())];
    const Status written = caught([&] { return write_frame_output(value, to); });
    if (written) continue;
    for (size_t made = 0; made < i; ++made) release_tensor(element(outputs, made));
    return written;
  }
  return {};
}

/// Checks the requested outputs before a frame is taken out.
Status check_requested(const PipelineRoutes& routes, const intarsia_tensor* outputs, size_t count) {
  TRY(check_sizes("output", outputs, count));
  for (size_t i = 0; i < count; ++i) {
    const char* name = element(outputs, i).name;
    if (name == nullptr) return fail("an output has no name");
    if (std::ranges::find(routes.outputs, name, &PipelineRoutes::Output::name) == routes.outputs.end())
      return fail("the pipeline has no output '{}'", name);
  }
  return {};
}

Status fill_argument(const std::string& name, const StagePort& port, intarsia_argument* info) {
  const int64_t* const shape = port.shape ? port.shape->data() : nullptr;
  return fill_struct(info, {.struct_size = sizeof(*info),
                            .name = name.c_str(),
                            .kind = INTARSIA_TENSOR,
                            .dtype = static_cast<int32_t>(port.dtype),
                            .rank = port.shape ? static_cast<int64_t>(port.shape->size()) : -1,
                            .shape = shape,
                            .index_limit = 0,
                            .tuned_shape = port.tuned_shape.empty() ? shape : port.tuned_shape.data()});
}

Result<PipelineOptions> make_options(const intarsia_pipeline_builder& builder,
                                     const intarsia_pipeline_options& given) {
  PipelineOptions options = builder.options;
  options.traces_steps = given.traces_steps != 0;
  if (given.depth > 0) options.depth = given.depth;
  if (given.timeout_ns != 0) options.timeout_ns = given.timeout_ns;
  if (given.deadline_ns != 0) options.deadline_ns = given.deadline_ns;
  options.queue = TRY(read_queue(given.queue)).value_or(options.queue);
  if (given.trace == nullptr) return options;
  std::vector<std::string> names;
  for (const auto& stage : builder.graph.stages) names.push_back(stage.name);
  options.trace = [given, names = std::move(names)](const FrameEvent& event) {
    intarsia_frame_event out{.struct_size = sizeof(out),
                             .stage = names[event.stage].c_str(),
                             .replica = event.replica,
                             .frame = event.frame,
                             .begin_ns = event.begin_ns,
                             .end_ns = event.end_ns};
    std::string name, kind, device;
    if (event.step != nullptr) {
      name = event.step->name;
      kind = event.step->kind;
      device = event.step->device;
      out.name = name.c_str();
      out.kind = kind.c_str();
      out.device = device.c_str();
    }
    given.trace(given.user, &out);
  };
  return options;
}

static_assert(TimeHistogram::size == INTARSIA_TIME_BUCKETS);

Result<TimeHistogram> find_times(const intarsia_pipeline& pipeline, int32_t which, size_t stage) {
  if (which == INTARSIA_TIMES_LATENCY) return pipeline.pipeline->frame_statistics().latency;
  if (which != INTARSIA_TIMES_RUN && which != INTARSIA_TIMES_WAIT)
    return fail("times {} are none of INTARSIA_TIMES_LATENCY, ...", which);
  if (stage >= pipeline.stages.size())
    return fail("no stage {}; the pipeline has {}", stage, pipeline.stages.size());
  const std::vector<StageStatistics> all = pipeline.pipeline->statistics();
  if (all.empty()) return fail("the pipeline belongs to the process that this one was forked from");
  return which == INTARSIA_TIMES_RUN ? all[stage].run : all[stage].queue;
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_pipeline_read(intarsia_pipeline_builder* builder, const char* path) {
  return guarded([&]() -> Status {
    if (builder == nullptr || path == nullptr) return fail("intarsia_pipeline_read got a null pointer");
    return read_pipeline_file(*builder, path);
  });
}

intarsia_error* intarsia_pipeline_start(intarsia_pipeline_builder* builder,
                                        const intarsia_pipeline_options* options,
                                        intarsia_pipeline** pipeline) {
  return guarded([&]() -> Status {
    if (builder == nullptr || pipeline == nullptr) return fail("intarsia_pipeline_start got a null pointer");
    intarsia_pipeline_options given{};
    if (options != nullptr) given = TRY(read_struct(*options, "the pipeline's options"));
    auto made = std::make_unique<intarsia_pipeline>();
    for (const auto& stage : builder->graph.stages) made->stages.push_back(stage.name);
    made->pipeline = TRY(Pipeline::start(builder->graph, TRY(make_options(*builder, given))));
    builder->graph.connections.clear();
    builder->sources.clear();
    *pipeline = made.release();
    return {};
  });
}

void intarsia_pipeline_release(intarsia_pipeline* pipeline) { delete pipeline; }

intarsia_error* intarsia_pipeline_describe(const intarsia_pipeline* pipeline, intarsia_pipeline_info* info) {
  return guarded([&]() -> Status {
    if (pipeline == nullptr) return fail("the pipeline is a null pointer");
    const PipelineRoutes& routes = pipeline->pipeline->routes();
    return fill_struct(info,
                       {sizeof(*info), routes.inputs.size(), routes.outputs.size(), routes.stages.size()});
  });
}

intarsia_error* intarsia_pipeline_input(const intarsia_pipeline* pipeline, size_t input,
                                        intarsia_argument* info) {
  return guarded([&]() -> Status {
    if (pipeline == nullptr) return fail("the pipeline is a null pointer");
    const PipelineRoutes& routes = pipeline->pipeline->routes();
    if (input >= routes.inputs.size())
      return fail("no input {}; the pipeline has {}", input, routes.inputs.size());
    return fill_argument(routes.inputs[input], routes.ports[input], info);
  });
}

intarsia_error* intarsia_pipeline_output(const intarsia_pipeline* pipeline, size_t output,
                                         intarsia_argument* info) {
  return guarded([&]() -> Status {
    if (pipeline == nullptr) return fail("the pipeline is a null pointer");
    const PipelineRoutes& routes = pipeline->pipeline->routes();
    if (output >= routes.outputs.size())
      return fail("no output {}; the pipeline has {}", output, routes.outputs.size());
    return fill_argument(routes.outputs[output].name, routes.outputs[output].port, info);
  });
}

intarsia_error* intarsia_pipeline_push(intarsia_pipeline* pipeline, int64_t wait_ns,
                                       const intarsia_tensor* inputs, size_t input_count,
                                       const intarsia_frame_owner* owner, int32_t* pushed, uint64_t* frame) {
  return intarsia_pipeline_push_frame(pipeline, wait_ns, inputs, input_count, owner, nullptr, pushed, frame);
}

intarsia_error* intarsia_pipeline_push_frame(intarsia_pipeline* pipeline, int64_t wait_ns,
                                             const intarsia_tensor* inputs, size_t input_count,
                                             const intarsia_frame_owner* owner,
                                             const intarsia_frame_options* options, int32_t* pushed,
                                             uint64_t* frame) {
  return guarded([&]() -> Status {
    if (pipeline == nullptr) return fail("the pipeline is a null pointer");
    FrameOptions about;
    if (options != nullptr) {
      const intarsia_frame_options read = TRY(read_struct(*options, "the frame's options"));
      about = {read.deadline_ns, read.timestamp, read.user};
    }
    const GivenFrame given = TRY(read_frame(inputs, input_count, owner));
    const std::optional<uint64_t> number = TRY(pipeline->pipeline->push(given.inputs, wait_ns, about));
    if (number && given.owner != nullptr) given.owner->arm();
    if (number && frame != nullptr) *frame = *number;
    if (pushed != nullptr) *pushed = number ? 1 : 0;
    return {};
  });
}

intarsia_error* intarsia_pipeline_pop(intarsia_pipeline* pipeline, int64_t wait_ns, intarsia_tensor* outputs,
                                      size_t output_count, intarsia_frame* frame) {
  return guarded([&]() -> Status {
    if (pipeline == nullptr || frame == nullptr) return fail("intarsia_pipeline_pop got a null pointer");
    TRY(check_size<intarsia_frame>(frame->struct_size, "the frame"));
    const PipelineRoutes& routes = pipeline->pipeline->routes();
    TRY(check_requested(routes, outputs, output_count));
    const PoppedFrame popped = pipeline->pipeline->pop(wait_ns);
    TRY(fill_struct(frame, {.struct_size = sizeof(*frame),
                            .state = static_cast<int32_t>(popped.state),
                            .number = popped.id,
                            .pushed_ns = popped.pushed_ns,
                            .done_ns = popped.done_ns,
                            .timestamp = popped.given.timestamp,
                            .user = popped.given.user}));
    if (popped.state != PopState::frame) return {};
    TRY(Status(popped.status));
    return with_context(write_outputs(routes, popped, outputs, output_count), "frame {}", popped.id);
  });
}

intarsia_error* intarsia_pipeline_finish(intarsia_pipeline* pipeline) {
  return guarded([&]() -> Status {
    if (pipeline == nullptr) return fail("the pipeline is a null pointer");
    pipeline->pipeline->finish();
    return {};
  });
}

intarsia_error* intarsia_pipeline_cancel(intarsia_pipeline* pipeline) {
  return guarded([&]() -> Status {
    if (pipeline == nullptr) return fail("the pipeline is a null pointer");
    pipeline->pipeline->cancel();
    return {};
  });
}

intarsia_error* intarsia_pipeline_stage(const intarsia_pipeline* pipeline, size_t stage,
                                        intarsia_stage_statistics* statistics) {
  return guarded([&]() -> Status {
    if (pipeline == nullptr) return fail("the pipeline is a null pointer");
    if (stage >= pipeline->stages.size())
      return fail("no stage {}; the pipeline has {}", stage, pipeline->stages.size());
    const std::vector<StageStatistics> all = pipeline->pipeline->statistics();
    if (all.empty()) return fail("the pipeline belongs to the process that this one was forked from");
    const StageStatistics& one = all[stage];
    return fill_struct(statistics, {.struct_size = sizeof(*statistics),
                                    .name = pipeline->stages[stage].c_str(),
                                    .replicas = one.replicas,
                                    .frames = one.frames,
                                    .errors = one.errors,
                                    .busy_ns = one.busy_ns,
                                    .waiting_ns = one.waiting_ns,
                                    .blocked_ns = one.blocked_ns,
                                    .queued = one.queued,
                                    .most_queued = one.most_queued,
                                    .running = one.running,
                                    .dropped = one.dropped});
  });
}

intarsia_error* intarsia_pipeline_frames(const intarsia_pipeline* pipeline,
                                         intarsia_frame_statistics* statistics) {
  return guarded([&]() -> Status {
    if (pipeline == nullptr) return fail("the pipeline is a null pointer");
    const FrameStatistics all = pipeline->pipeline->frame_statistics();
    return fill_struct(statistics, {.struct_size = sizeof(*statistics),
                                    .pushed = all.pushed,
                                    .done = all.done,
                                    .errors = all.errors,
                                    .dropped = all.dropped,
                                    .timed_out = all.timed_out});
  });
}

int64_t intarsia_time_bucket_bound_ns(size_t bucket) { return TimeHistogram::bound_ns(bucket); }

intarsia_error* intarsia_pipeline_times(const intarsia_pipeline* pipeline, int32_t which, size_t stage,
                                        intarsia_time_histogram* histogram) {
  return guarded([&]() -> Status {
    if (pipeline == nullptr) return fail("the pipeline is a null pointer");
    const TimeHistogram found = TRY(find_times(*pipeline, which, stage));
    intarsia_time_histogram times{.struct_size = sizeof(times), .counts = {}};
    std::ranges::copy(found.counts(), times.counts);
    return fill_struct(histogram, times);
  });
}

intarsia_error* intarsia_pipeline_replica(const intarsia_pipeline* pipeline, size_t stage, size_t replica,
                                          intarsia_replica_statistics* statistics) {
  return guarded([&]() -> Status {
    if (pipeline == nullptr) return fail("the pipeline is a null pointer");
    if (stage >= pipeline->stages.size())
      return fail("no stage {}; the pipeline has {}", stage, pipeline->stages.size());
    const std::vector<ReplicaStatistics> all = pipeline->pipeline->replicas(stage);
    if (all.empty()) return fail("the pipeline belongs to the process that this one was forked from");
    if (replica >= all.size()) return fail("no replica {}; the stage has {}", replica, all.size());
    const ReplicaStatistics& one = all[replica];
    return fill_struct(statistics, {.struct_size = sizeof(*statistics),
                                    .in_service = one.is_in_service ? 1 : 0,
                                    .frames = one.frames,
                                    .errors = one.errors,
                                    .repeats = one.repeats,
                                    .reason = pipeline->keep(one.reason),
                                    .note = pipeline->keep(one.note)});
  });
}
