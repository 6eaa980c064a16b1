#include "pipeline_module.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <intarsia/intarsia_pipeline.hpp>

#include "value.h"

namespace intarsia_python {
namespace {

using intarsia::detail::check;

using Bindings = std::vector<std::pair<std::string, std::string>>;
using Names = std::vector<std::string>;

/// Python object that threads of the library release while they do not hold the interpreter lock.
struct KeptObject {
  nb::object object;

  static void release(void* kept) {
    if (!nb::is_alive()) return;  // the interpreter has ended, and its objects with it
    const nb::gil_scoped_acquire acquire;
    delete static_cast<KeptObject*>(kept);
  }
};

/// Returns an input as the package takes it, over memory that lives as long as its array.
nb::tuple keep_input(intarsia_stage_call* call, size_t input) {
  auto* kept = new intarsia_tensor{};
  kept->struct_size = sizeof(*kept);
  const OutputOwner owner(kept, [](intarsia_tensor* tensor) {
    intarsia_tensor_release(tensor);
    delete tensor;
  });
  check(intarsia_stage_call_keep(call, input, kept));
  return to_python(*kept, owner);
}

/// Returns the error as one line, as in "ValueError: no ones".
std::string one_line(const nb::python_error& error) {
  const auto name = nb::cast<std::string>(error.type().attr("__name__"));
  return name + ": " + nb::str(error.value()).c_str();
}

/// Calls function(frame, [input]), which returns a list of Values, one per output.
void call_function(void* user, intarsia_stage_call* call, const intarsia_tensor*, size_t input_count) {
  if (!nb::is_alive()) return intarsia_stage_call_fail(call, "the interpreter has ended");
  const nb::gil_scoped_acquire acquire;
  try {
    nb::list inputs;
    for (size_t i = 0; i < input_count; ++i) inputs.append(keep_input(call, i));
    const nb::list made =
        nb::cast<nb::list>(static_cast<KeptObject*>(user)->object(intarsia_stage_call_frame(call), inputs));
    for (size_t i = 0; i < made.size(); ++i) {
      const nb::object object = made[i];
      const intarsia_tensor value = nb::cast<Value&>(object).describe("");
      auto kept = std::make_unique<KeptObject>(KeptObject{object});
      check(intarsia_stage_call_give(call, i, &value, KeptObject::release, kept.get()));
      kept.release();
    }
  } catch (nb::python_error& error) {
    if (error.matches(nb::module_::import_("intarsia.errors").attr("DroppedError")))
      return intarsia_stage_call_drop(call, nb::str(error.value()).c_str());
    intarsia_stage_call_fail(call, one_line(error).c_str());
  } catch (const std::exception& error) {
    intarsia_stage_call_fail(call, error.what());
  }
}

/// Returns [(from_ns, to_ns, count)] of the buckets that are not empty.
nb::list filled_buckets(const intarsia_pipeline* pipeline, int32_t which, size_t stage) {
  intarsia_time_histogram histogram{};
  histogram.struct_size = sizeof(histogram);
  check(intarsia_pipeline_times(pipeline, which, stage, &histogram));
  nb::list filled;
  int64_t from = 0;
  for (size_t bucket = 0; bucket < INTARSIA_TIME_BUCKETS; ++bucket) {
    const int64_t to = intarsia_time_bucket_bound_ns(bucket);
    if (histogram.counts[bucket] > 0) filled.append(nb::make_tuple(from, to, histogram.counts[bucket]));
    from = to;
  }
  return filled;
}

intarsia_pipeline_info describe(const intarsia_pipeline* pipeline) {
  intarsia_pipeline_info info{};
  info.struct_size = sizeof(info);
  check(intarsia_pipeline_describe(pipeline, &info));
  return info;
}

template <typename Describe>
std::string name_of(const intarsia_pipeline* pipeline, Describe port, size_t number) {
  intarsia_argument argument{};
  argument.struct_size = sizeof(argument);
  check(port(pipeline, number, &argument));
  return argument.name;
}

/// Returns {name: value}, which own the outputs of a frame.
nb::dict to_values(const Names& names, const std::vector<intarsia_tensor>& outputs) {
  nb::dict values;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputOwner owner(new intarsia_tensor(outputs[i]), [](intarsia_tensor* tensor) {
      intarsia_tensor_release(tensor);
      delete tensor;
    });
    values[names[i].c_str()] = to_python(*owner, owner);
  }
  return values;
}

class Pipeline {
 public:
  Pipeline(intarsia_pipeline* pipeline, nb::object trace)
      : trace_(std::move(trace)), pipeline_(pipeline, [](intarsia_pipeline* ended) {
          const nb::gil_scoped_release release;  // its threads may wait for the lock
          intarsia_pipeline_release(ended);
        }) {}

  /// Pushes a frame; returns its number, or None if the queue stays full. The library copies the inputs, or
  /// keeps `owner` until it has read them. `user` is a number that comes back with the frame.
  nb::object push(std::vector<std::pair<std::string, Value*>> inputs, int64_t wait_ns, nb::object owner,
                  int64_t deadline_ns, int64_t timestamp, uintptr_t user) {
    std::vector<intarsia_tensor> given;
    for (auto& [name, value] : inputs) given.push_back(value->describe(name.c_str()));
    auto kept = owner.is_none() ? nullptr : std::make_unique<KeptObject>(KeptObject{std::move(owner)});
    const intarsia_frame_owner released{KeptObject::release, kept.get()};
    const intarsia_frame_options options{sizeof(options), deadline_ns, timestamp,
                                         reinterpret_cast<void*>(user)};
    int32_t pushed = 0;
    uint64_t frame = 0;
    intarsia_error* error = nullptr;
    {
      const nb::gil_scoped_release release;
      error = intarsia_pipeline_push_frame(pipeline_.get(), wait_ns, given.data(), given.size(),
                                           kept ? &released : nullptr, &options, &pushed, &frame);
    }
    check(error);
    if (pushed == 0) return nb::none();
    kept.release();
    return nb::cast(frame);
  }

  /// Pops (state, number, pushed_ns, done_ns, timestamp, user, error or None, {name: value}); an error is
  /// (kind, message).
  nb::tuple pop(const Names& outputs, int64_t wait_ns) {
    std::vector<intarsia_tensor> to;
    for (const std::string& name : outputs) {
      to.push_back({});
      to.back().struct_size = sizeof(intarsia_tensor);
      to.back().name = name.c_str();
    }
    intarsia_frame frame{};
    frame.struct_size = sizeof(frame);
    frame.state = INTARSIA_POP_NONE;
    intarsia_error* error = nullptr;
    {
      const nb::gil_scoped_release release;
      error = intarsia_pipeline_pop(pipeline_.get(), wait_ns, to.data(), to.size(), &frame);
    }
    if (error != nullptr && frame.state != INTARSIA_POP_FRAME) check(error);
    nb::dict values;
    nb::object failed = nb::none();
    if (error != nullptr) {
      failed = nb::make_tuple(intarsia_error_kind(error), std::string(intarsia_error_message(error)));
      intarsia_error_release(error);
    } else if (frame.state == INTARSIA_POP_FRAME) {
      values = to_values(outputs, to);
    }
    return nb::make_tuple(frame.state, frame.number, frame.pushed_ns, frame.done_ns, frame.timestamp,
                          reinterpret_cast<uintptr_t>(frame.user), failed, values);
  }

  void finish() { check(intarsia_pipeline_finish(pipeline_.get())); }
  void cancel() {
    intarsia_error* error = nullptr;
    {
      const nb::gil_scoped_release release;  // cancel frees frames, whose owners take the lock
      error = intarsia_pipeline_cancel(pipeline_.get());
    }
    check(error);
  }

  /// Releases the pipeline; calls are errors from then on.
  void close() { pipeline_.reset(); }

  /// Returns (names of the inputs, names of the outputs).
  nb::tuple ports() const {
    const intarsia_pipeline_info info = describe(pipeline_.get());
    nb::list inputs, outputs;
    for (size_t i = 0; i < info.input_count; ++i)
      inputs.append(name_of(pipeline_.get(), intarsia_pipeline_input, i));
    for (size_t i = 0; i < info.output_count; ++i)
      outputs.append(name_of(pipeline_.get(), intarsia_pipeline_output, i));
    return nb::make_tuple(inputs, outputs);
  }

  /// Returns (pushed, done, errors, dropped, timed_out, latencies); times as in filled_buckets().
  nb::tuple frame_statistics() const {
    intarsia_frame_statistics all{};
    all.struct_size = sizeof(all);
    check(intarsia_pipeline_frames(pipeline_.get(), &all));
    return nb::make_tuple(all.pushed, all.done, all.errors, all.dropped, all.timed_out,
                          filled_buckets(pipeline_.get(), INTARSIA_TIMES_LATENCY, 0));
  }

  /// Returns [(name, replicas, frames, errors, busy_ns, waiting_ns, blocked_ns, queued, most_queued, dropped,
  /// run times, wait times, running)].
  nb::list statistics() const {
    nb::list all;
    for (size_t i = 0; i < describe(pipeline_.get()).stage_count; ++i) {
      intarsia_stage_statistics one{};
      one.struct_size = sizeof(one);
      check(intarsia_pipeline_stage(pipeline_.get(), i, &one));
      all.append(nb::make_tuple(std::string(one.name), one.replicas, one.frames, one.errors, one.busy_ns,
                                one.waiting_ns, one.blocked_ns, one.queued, one.most_queued, one.dropped,
                                filled_buckets(pipeline_.get(), INTARSIA_TIMES_RUN, i),
                                filled_buckets(pipeline_.get(), INTARSIA_TIMES_WAIT, i), one.running));
    }
    return all;
  }

  /// Returns [(in_service, frames, errors, repeats, reason, note)] for each stage.
  nb::list replicas() const {
    nb::list all;
    for (size_t stage = 0; stage < describe(pipeline_.get()).stage_count; ++stage) {
      intarsia_stage_statistics about{};
      about.struct_size = sizeof(about);
      check(intarsia_pipeline_stage(pipeline_.get(), stage, &about));
      nb::list of_stage;
      for (size_t i = 0; i < about.replicas; ++i) {
        intarsia_replica_statistics one{};
        one.struct_size = sizeof(one);
        check(intarsia_pipeline_replica(pipeline_.get(), stage, i, &one));
        of_stage.append(nb::make_tuple(one.in_service != 0, one.frames, one.errors, one.repeats,
                                       std::string(one.reason), std::string(one.note)));
      }
      all.append(of_stage);
    }
    return all;
  }

 private:
  nb::object trace_;  // referred to by the pipeline
  std::shared_ptr<intarsia_pipeline> pipeline_;
};

class PipelineBuilder {
 public:
  void add_program(const std::string& stage, const ProgramHandle& program, const std::string& function,
                   const Bindings& devices, int threads, bool is_lost_an_error) {
    const intarsia::detail::BindOptions options(devices, threads, on_device_lost(is_lost_an_error));
    check(intarsia_pipeline_add_program(builder_.get(), stage.c_str(), program.program.get(),
                                        function.empty() ? nullptr : function.c_str(), options.get()));
  }
  void add_stages(const ProgramHandle& program, const std::string& function) {
    check(intarsia_pipeline_add_stages(builder_.get(), program.program.get(),
                                       function.empty() ? nullptr : function.c_str()));
  }
  void add_replica(const std::string& stage, const Bindings& devices, int threads) {
    builder_.add_replica(stage, devices, threads);
  }
  void add_replica_program(const std::string& stage, const ProgramHandle& program,
                           const std::string& function, const Bindings& devices, int threads) {
    const intarsia::detail::BindOptions options(devices, threads);
    check(intarsia_pipeline_add_replica_program(builder_.get(), stage.c_str(), program.program.get(),
                                                function.empty() ? nullptr : function.c_str(),
                                                options.get()));
  }
  void add_function(const std::string& stage, const Names& inputs, const Names& outputs, nb::object function,
                    const std::string& cores, uint32_t threads, bool repeats) {
    auto kept = std::make_unique<KeptObject>(KeptObject{std::move(function)});
    intarsia::detail::FunctionPorts ports(stage, inputs, outputs, cores, threads, repeats);
    ports.about.run = call_function;
    ports.about.user = kept.get();
    ports.about.release = KeptObject::release;
    check(intarsia_pipeline_add_function(builder_.get(), &ports.about));
    kept.release();
  }
  void set_options(const std::string& stage, int32_t queue, const Names& scatter, bool gather) {
    builder_.set_options(stage, {static_cast<intarsia::Queue>(queue), scatter, gather});
  }
  void connect(const std::string& from, const std::string& output, const std::string& to,
               const std::string& input) {
    builder_.connect(from, output, to, input);
  }
  void connect_by_name() { builder_.connect_by_name(); }
  void read(const std::string& path) { builder_.read(path); }

  /// Starts with trace(stage, replica, frame, begin_ns, end_ns) and trace_steps(the same, name, kind,
  /// device), either of which may be None.
  Pipeline* start(uint32_t depth, int64_t timeout_ns, int64_t deadline_ns, int32_t queue,
                  const nb::object& trace, const nb::object& trace_steps) {
    intarsia_pipeline_options options{};
    options.struct_size = sizeof(options);
    options.depth = depth;
    options.timeout_ns = timeout_ns;
    options.deadline_ns = deadline_ns;
    options.queue = queue;
    const nb::object traces = nb::make_tuple(trace, trace_steps);
    options.traces_steps = trace_steps.is_none() ? 0 : 1;
    if (!trace.is_none() || !trace_steps.is_none()) {
      options.trace = call_trace;
      options.user = traces.ptr();
    }
    intarsia_pipeline* pipeline = nullptr;
    check(intarsia_pipeline_start(builder_.get(), &options, &pipeline));
    return new Pipeline(pipeline, traces);
  }

 private:
  static void call_trace(void* user, const intarsia_frame_event* event) {
    if (!nb::is_alive()) return;
    const nb::gil_scoped_acquire acquire;
    try {
      const bool is_step = event->name != nullptr;
      const nb::object call = nb::handle(static_cast<PyObject*>(user))[is_step ? 1 : 0];
      if (call.is_none()) return;
      if (is_step)
        call(event->stage, event->replica, event->frame, event->begin_ns, event->end_ns, event->name,
             event->kind, event->device);
      else
        call(event->stage, event->replica, event->frame, event->begin_ns, event->end_ns);
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("intarsia: a pipeline's trace");
    }
  }

  intarsia::PipelineBuilder builder_;
};

}  // namespace

void define_pipelines(nb::module_& module) {
  module.def("expect_leaks", [] { nb::set_leak_warnings(false); });
  nb::class_<ProgramHandle>(module, "ProgramHandle");
  nb::class_<Pipeline>(module, "Pipeline", nb::is_weak_referenceable())
      .def("push", &Pipeline::push, nb::arg("inputs"), nb::arg("wait_ns"), nb::arg("owner").none(),
           nb::arg("deadline_ns"), nb::arg("timestamp"), nb::arg("user"))
      .def("pop", &Pipeline::pop)
      .def("finish", &Pipeline::finish)
      .def("cancel", &Pipeline::cancel)
      .def("close", &Pipeline::close)
      .def("ports", &Pipeline::ports)
      .def("frame_statistics", &Pipeline::frame_statistics)
      .def("statistics", &Pipeline::statistics)
      .def("replicas", &Pipeline::replicas);
  nb::class_<PipelineBuilder>(module, "PipelineBuilder")
      .def(nb::init<>())
      .def("add_program", &PipelineBuilder::add_program)
      .def("add_stages", &PipelineBuilder::add_stages)
      .def("add_replica", &PipelineBuilder::add_replica)
      .def("add_replica_program", &PipelineBuilder::add_replica_program)
      .def("add_function", &PipelineBuilder::add_function)
      .def("set_options", &PipelineBuilder::set_options)
      .def("connect", &PipelineBuilder::connect)
      .def("connect_by_name", &PipelineBuilder::connect_by_name)
      .def("read", &PipelineBuilder::read)
      .def("start", &PipelineBuilder::start, nb::arg("depth"), nb::arg("timeout_ns"), nb::arg("deadline_ns"),
           nb::arg("queue"), nb::arg("trace").none(), nb::arg("trace_steps").none());
}

}  // namespace intarsia_python
