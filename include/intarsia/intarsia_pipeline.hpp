// Intarsia's pipelines for C++17: intarsia_pipeline.h with values, lifetimes and exceptions. Header-only;
// link libintarsia.
//
//   auto program = intarsia::Program::load("resnet.so");
//   intarsia::PipelineBuilder builder;
//   builder.add("decode", {"jpeg"}, {"image"}, [](intarsia::StageCall& call) {
//     std::vector<float> image = decode(call.input(0));
//     call.give(0, intarsia::View(image.data(), {1, 3, 224, 224}));
//   });
//   builder.add("classify", program, {{"cpu", "cpu:1"}});
//   builder.connect_by_name();
//   intarsia::Pipeline pipeline = builder.start();
//   pipeline.push({{"jpeg", {bytes.data(), {size}}}});
//   std::optional<intarsia::PoppedFrame> frame = pipeline.pop({"scores"});
#ifndef INTARSIA_INTARSIA_PIPELINE_HPP_
#define INTARSIA_INTARSIA_PIPELINE_HPP_

#include <intarsia/intarsia_pipeline.h>
#include <intarsia/intarsia.hpp>

#include <chrono>
#include <optional>

namespace intarsia {
inline namespace v1 {

/// Frame in a stage that is a function; valid during the call.
class StageCall {
 public:
  StageCall(intarsia_stage_call* call, const intarsia_tensor* inputs, size_t input_count)
      : call_(call), inputs_(inputs), input_count_(input_count) {}

  uint64_t frame() const { return intarsia_stage_call_frame(call_); }
  size_t input_count() const { return input_count_; }
  /// Returns an input, in the order of their declaration, to be read only.
  const intarsia_tensor& input(size_t i) const { return inputs_[i]; }
  /// Allocates uninitialized memory of an output, to fill in.
  template <typename T>
  T* allocate(size_t output, const std::vector<int64_t>& shape) {
    void* data = nullptr;
    detail::check(intarsia_stage_call_allocate(call_, output, detail::dtype_of<T>(), shape.size(),
                                               shape.data(), &data));
    return static_cast<T*>(data);
  }
  /// Gives a copy of the view as an output.
  void give(size_t output, const View& view) {
    const std::string unnamed;
    const intarsia_tensor tensor = detail::tensor(unnamed, view);
    detail::check(intarsia_stage_call_give(call_, output, &tensor, nullptr, nullptr));
  }
  /// Gives the view as an output, used in place; `owner` keeps its memory alive.
  void give(size_t output, const View& view, std::shared_ptr<const void> owner) {
    using Owner = std::shared_ptr<const void>;
    auto kept = std::make_unique<Owner>(std::move(owner));
    const std::string unnamed;
    const intarsia_tensor tensor = detail::tensor(unnamed, view);
    detail::check(intarsia_stage_call_give(
        call_, output, &tensor, [](void* user) { delete static_cast<Owner*>(user); }, kept.get()));
    kept.release();
  }

 private:
  intarsia_stage_call* call_;
  const intarsia_tensor* inputs_;
  size_t input_count_;
};

/// Exception with which a stage's function drops the frame: later stages skip it. Not counted as an error of
/// the stage.
class Dropped : public Error {
 public:
  explicit Dropped(const std::string& reason) : Error(reason, INTARSIA_ERROR_DROPPED) {}
};

/// Function of a stage. An exception that it throws becomes the frame's error.
using StageFunction = std::function<void(StageCall&)>;

/// Statistics of a stage (intarsia_stage_statistics).
struct StageStatistics {
  std::string name;
  uint32_t replicas = 1;
  uint64_t frames = 0, errors = 0;
  std::chrono::nanoseconds busy{}, waiting{}, blocked{};
  size_t queued = 0, most_queued = 0;
  uint32_t running = 0;  // replicas that have a frame now
  uint64_t dropped = 0;  // frames that were dropped
};

/// Counts of a pipeline's frames (intarsia_frame_statistics).
struct FrameStatistics {
  uint64_t pushed = 0;
  uint64_t done = 0, errors = 0, dropped = 0, timed_out = 0;  // popped frames
};

/// Bucket of a histogram of times (intarsia_time_histogram).
struct TimeBucket {
  std::chrono::nanoseconds from{}, to{};  // bounds; `to` of the last bucket is nanoseconds::max()
  uint64_t count = 0;
};

/// Policies for a frame that comes to a full queue (INTARSIA_QUEUE_...).
enum class Queue : int32_t {
  standard = INTARSIA_QUEUE_DEFAULT,
  block = INTARSIA_QUEUE_BLOCK,
  drop_oldest = INTARSIA_QUEUE_DROP_OLDEST,
  latest = INTARSIA_QUEUE_LATEST
};

/// Options of how frames come to a stage, and of what it reads and gives (intarsia_stage_options).
struct StageOptions {
  Queue queue = Queue::standard;
  std::vector<std::string> scatter = {};  // outputs that are zero or more items, one per row
  bool gather = false;                    // whether items among its inputs come as one tensor
};

/// Options of a pipeline (intarsia_pipeline_options).
struct PipelineOptions {
  uint32_t depth = 0;  // length of each queue in frames; 0: 2, or as the file says
  std::chrono::nanoseconds timeout{}, deadline{};  // times of a frame; 0: none, or as the file says
  Queue queue = Queue::standard;
};

/// Options of a frame that is pushed (intarsia_frame_options).
struct FrameOptions {
  std::chrono::nanoseconds deadline{};  // deadline of the frame; 0: the pipeline's
  int64_t timestamp = 0;                // comes back with the frame
  void* user = nullptr;                 // comes back likewise
};

/// Statistics of a replica of a stage (intarsia_replica_statistics).
struct ReplicaStatistics {
  bool in_service = true;
  uint64_t frames = 0, errors = 0, repeats = 0;
  std::string reason;  // why it is out of service, or last was; empty if it never was
  std::string note;    // difference from how it was compiled, if any
};

/// A frame that has left, in the order of the pushes.
struct PoppedFrame {
  uint64_t number = 0;
  std::chrono::nanoseconds latency{};  // time from its push to the end of its last stage
  std::vector<Value> outputs;          // outputs, as requested
  int64_t timestamp = 0;               // timestamp of its push
  void* user = nullptr;
};

/// Error that a frame ended with.
class FrameError : public Error {
 public:
  FrameError(const intarsia_frame& frame, const Error& error)
      : Error(error.what(), error.kind()),
        frame_(frame.number),
        timestamp_(frame.timestamp),
        user_(frame.user) {}
  uint64_t frame() const noexcept { return frame_; }
  /// Returns the timestamp of its push.
  int64_t timestamp() const noexcept { return timestamp_; }
  void* user() const noexcept { return user_; }

 private:
  uint64_t frame_;
  int64_t timestamp_;
  void* user_;
};

/// A pipeline: frames go through stages that work at the same time. Any thread may make any call.
/// Move-only; its destructor cancels (intarsia_pipeline_release).
class Pipeline {
 public:
  explicit Pipeline(intarsia_pipeline* pipeline) : pipeline_(pipeline, intarsia_pipeline_release) {}

  /// Copies the inputs, waits for room and returns the frame's number, counted from 0.
  uint64_t push(const std::vector<NamedView>& inputs, const FrameOptions& options = {}) {
    return *push_within(inputs, -1, options);
  }
  /// Pushes like push(), waiting at most that long. Returns nullopt if the queue stayed full.
  std::optional<uint64_t> push_for(const std::vector<NamedView>& inputs, std::chrono::nanoseconds wait,
                                   const FrameOptions& options = {}) {
    return push_within(inputs, wait.count() < 0 ? 0 : wait.count(), options);
  }
  std::optional<uint64_t> try_push(const std::vector<NamedView>& inputs, const FrameOptions& options = {}) {
    return push_within(inputs, 0, options);
  }
  /// Waits for the next frame and returns it; nullopt after the last one. Throws FrameError for a frame that
  /// failed or was dropped (INTARSIA_ERROR_DROPPED); the next call goes on with the frame after it.
  std::optional<PoppedFrame> pop(const std::vector<std::string>& outputs) { return take(outputs, -1); }
  /// Pops like pop(); also returns nullopt if no frame comes within the time (`ended` tells the two apart).
  std::optional<PoppedFrame> pop_for(const std::vector<std::string>& outputs, std::chrono::nanoseconds wait,
                                     bool* ended = nullptr) {
    return take(outputs, wait.count() < 0 ? 0 : wait.count(), ended);
  }
  /// Pops a frame, copying its outputs into the caller's buffers. Returns false after the last frame.
  bool pop_into(const std::vector<NamedView>& outputs) {
    std::vector<intarsia_tensor> to = detail::tensors(outputs);
    return call_pop(to, -1).state == INTARSIA_POP_FRAME;
  }
  /// Declares that no more frames will be pushed; those inside go on.
  void finish() { detail::check(intarsia_pipeline_finish(pipeline_.get())); }
  /// Drops the frames inside; returns at once.
  void cancel() { detail::check(intarsia_pipeline_cancel(pipeline_.get())); }

  std::vector<StageStatistics> statistics() const {
    std::vector<StageStatistics> all;
    for (size_t i = 0; i < describe().stage_count; ++i) {
      intarsia_stage_statistics one{};
      one.struct_size = sizeof(one);
      detail::check(intarsia_pipeline_stage(pipeline_.get(), i, &one));
      using std::chrono::nanoseconds;
      all.push_back({one.name, one.replicas, one.frames, one.errors, nanoseconds(one.busy_ns),
                     nanoseconds(one.waiting_ns), nanoseconds(one.blocked_ns), one.queued, one.most_queued,
                     one.running, one.dropped});
    }
    return all;
  }
  FrameStatistics frame_statistics() const {
    intarsia_frame_statistics all{};
    all.struct_size = sizeof(all);
    detail::check(intarsia_pipeline_frames(pipeline_.get(), &all));
    return {all.pushed, all.done, all.errors, all.dropped, all.timed_out};
  }
  /// Returns the buckets that are not empty, in order. `which` is one of INTARSIA_TIMES_...
  std::vector<TimeBucket> times(int32_t which, size_t stage = 0) const {
    intarsia_time_histogram histogram{};
    histogram.struct_size = sizeof(histogram);
    detail::check(intarsia_pipeline_times(pipeline_.get(), which, stage, &histogram));
    std::vector<TimeBucket> all;
    std::chrono::nanoseconds from{};
    for (size_t bucket = 0; bucket < INTARSIA_TIME_BUCKETS; ++bucket) {
      const std::chrono::nanoseconds to(intarsia_time_bucket_bound_ns(bucket));
      if (histogram.counts[bucket] > 0) all.push_back({from, to, histogram.counts[bucket]});
      from = to;
    }
    return all;
  }
  /// Returns the statistics of the replicas of a stage, counted from 0 as in statistics().
  std::vector<ReplicaStatistics> replicas(size_t stage) const {
    intarsia_stage_statistics about{};
    about.struct_size = sizeof(about);
    detail::check(intarsia_pipeline_stage(pipeline_.get(), stage, &about));
    std::vector<ReplicaStatistics> all;
    for (size_t i = 0; i < about.replicas; ++i) {
      intarsia_replica_statistics one{};
      one.struct_size = sizeof(one);
      detail::check(intarsia_pipeline_replica(pipeline_.get(), stage, i, &one));
      all.push_back({one.in_service != 0, one.frames, one.errors, one.repeats, one.reason, one.note});
    }
    return all;
  }
  std::vector<Argument> inputs() const { return arguments(intarsia_pipeline_input, describe().input_count); }
  std::vector<Argument> outputs() const {
    return arguments(intarsia_pipeline_output, describe().output_count);
  }
  intarsia_pipeline* get() const { return pipeline_.get(); }

 private:
  std::optional<uint64_t> push_within(const std::vector<NamedView>& inputs, int64_t wait_ns,
                                      const FrameOptions& options) {
    const std::vector<intarsia_tensor> given = detail::tensors(inputs);
    intarsia_frame_options about{};
    about.struct_size = sizeof(about);
    about.deadline_ns = options.deadline.count();
    about.timestamp = options.timestamp;
    about.user = options.user;
    uint64_t frame = 0;
    int32_t pushed = 0;
    detail::check(intarsia_pipeline_push_frame(pipeline_.get(), wait_ns, given.data(), given.size(), nullptr,
                                               &about, &pushed, &frame));
    return pushed != 0 ? std::optional<uint64_t>(frame) : std::nullopt;
  }

  intarsia_pipeline_info describe() const {
    intarsia_pipeline_info info{};
    info.struct_size = sizeof(info);
    detail::check(intarsia_pipeline_describe(pipeline_.get(), &info));
    return info;
  }

  template <typename Describe>
  std::vector<Argument> arguments(Describe describe, size_t count) const {
    std::vector<Argument> all;
    for (size_t i = 0; i < count; ++i) {
      intarsia_argument argument{};
      argument.struct_size = sizeof(argument);
      detail::check(describe(pipeline_.get(), i, &argument));
      all.push_back(detail::argument(argument));
    }
    return all;
  }

  intarsia_frame call_pop(std::vector<intarsia_tensor>& to, int64_t wait_ns) {
    intarsia_frame frame{};
    frame.struct_size = sizeof(frame);
    frame.state = INTARSIA_POP_NONE;
    intarsia_error* error = intarsia_pipeline_pop(pipeline_.get(), wait_ns, to.data(), to.size(), &frame);
    try {
      detail::check(error);
    } catch (const Error& thrown) {
      if (frame.state == INTARSIA_POP_FRAME) throw FrameError(frame, thrown);
      throw;
    }
    return frame;
  }

  std::optional<PoppedFrame> take(const std::vector<std::string>& outputs, int64_t wait_ns,
                                  bool* ended = nullptr) {
    std::vector<intarsia_tensor> to;
    for (const std::string& name : outputs) to.push_back(detail::tensor(name, View()));
    const intarsia_frame frame = call_pop(to, wait_ns);
    if (ended != nullptr) *ended = frame.state == INTARSIA_POP_ENDED;
    if (frame.state != INTARSIA_POP_FRAME) return std::nullopt;
    PoppedFrame popped{frame.number,
                       std::chrono::nanoseconds(frame.done_ns - frame.pushed_ns),
                       {},
                       frame.timestamp,
                       frame.user};
    for (const intarsia_tensor& tensor : to) popped.outputs.emplace_back(tensor);
    return popped;
  }

  std::unique_ptr<intarsia_pipeline, void (*)(intarsia_pipeline*)> pipeline_;
};

namespace detail {

/// A stage's ports in the form of the C API, without its callbacks; refers to the names, which must outlive
/// it.
class FunctionPorts {
 public:
  FunctionPorts(const std::string& stage, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs, const std::string& cores, uint32_t threads,
                bool repeats = true) {
    for (const std::string& name : inputs) inputs_.push_back(name.c_str());
    for (const std::string& name : outputs) outputs_.push_back(name.c_str());
    about.struct_size = sizeof(about);
    about.name = stage.c_str();
    about.inputs = inputs_.data();
    about.input_count = inputs_.size();
    about.outputs = outputs_.data();
    about.output_count = outputs_.size();
    about.cores = cores.empty() ? nullptr : cores.c_str();
    about.thread_count = threads;
    about.never_repeats = repeats ? 0 : 1;
  }
  FunctionPorts(const FunctionPorts&) = delete;
  FunctionPorts& operator=(const FunctionPorts&) = delete;

  intarsia_stage_function about{};

 private:
  std::vector<const char*> inputs_, outputs_;
};

}  // namespace detail

/// Parts of a pipeline: stages in an order in which values flow forward, and connections.
class PipelineBuilder {
 public:
  PipelineBuilder() : builder_(create(), intarsia_pipeline_builder_release) {}

  /// Adds a function of a program; bind it to its own cores. `function` may be empty if the program has only
  /// one.
  void add(const std::string& stage, const Program& program, const std::vector<Binding>& devices = {},
           int threads = 0, const std::string& function = {},
           OnDeviceLost on_device_lost = OnDeviceLost::alternative) {
    const detail::BindOptions options(devices, threads, on_device_lost);
    detail::check(intarsia_pipeline_add_program(builder_.get(), stage.c_str(), program.get(),
                                                function.empty() ? nullptr : function.c_str(),
                                                options.get()));
  }
  /// Adds the stages that a function was compiled with, as "stage0", "stage1", ..., on their own executors.
  void add_stages(const Program& program, const std::string& function = {}) {
    detail::check(intarsia_pipeline_add_stages(builder_.get(), program.get(),
                                               function.empty() ? nullptr : function.c_str()));
  }
  /// Adds another session to that stage.
  void add_replica(const std::string& stage, const std::vector<Binding>& devices = {}, int threads = 0) {
    const detail::BindOptions options(devices, threads);
    detail::check(intarsia_pipeline_add_replica(builder_.get(), stage.c_str(), options.get()));
  }
  /// Adds a session of another program with the stage's inputs and outputs, compiled for a different device.
  void add_replica(const std::string& stage, const Program& program, const std::vector<Binding>& devices = {},
                   int threads = 0, const std::string& function = {}) {
    const detail::BindOptions options(devices, threads);
    detail::check(intarsia_pipeline_add_replica_program(builder_.get(), stage.c_str(), program.get(),
                                                        function.empty() ? nullptr : function.c_str(),
                                                        options.get()));
  }
  /// Adds a function of yours, called by `threads` threads at once, which are pinned to `cores` ("0-1";
  /// empty: any). `repeats`: whether another thread may call it again for a frame for which it failed.
  void add(const std::string& stage, const std::vector<std::string>& inputs,
           const std::vector<std::string>& outputs, StageFunction function, const std::string& cores = {},
           uint32_t threads = 1, bool repeats = true) {
    auto kept = std::make_unique<StageFunction>(std::move(function));
    detail::FunctionPorts ports(stage, inputs, outputs, cores, threads, repeats);
    ports.about.run = call;
    ports.about.user = kept.get();
    ports.about.release = [](void* user) { delete static_cast<StageFunction*>(user); };
    detail::check(intarsia_pipeline_add_function(builder_.get(), &ports.about));
    kept.release();
  }
  /// Sets the options of a stage that was added.
  void set_options(const std::string& stage, const StageOptions& options) {
    std::vector<const char*> scatter;
    for (const std::string& name : options.scatter) scatter.push_back(name.c_str());
    intarsia_stage_options about{};
    about.struct_size = sizeof(about);
    about.queue = static_cast<int32_t>(options.queue);
    about.gather = options.gather ? 1 : 0;
    about.scatter = scatter.data();
    about.scatter_count = scatter.size();
    detail::check(intarsia_pipeline_set_stage_options(builder_.get(), stage.c_str(), &about));
  }
  /// Connects an output of a stage (empty: an input of the pipeline of that name) to an input of a stage
  /// (empty: an output of the pipeline).
  void connect(const std::string& from, const std::string& output, const std::string& to,
               const std::string& input) {
    detail::check(
        intarsia_pipeline_connect(builder_.get(), from.c_str(), output.c_str(), to.c_str(), input.c_str()));
  }
  /// Connects what is not connected yet by name (intarsia_pipeline_connect_by_name).
  void connect_by_name() { detail::check(intarsia_pipeline_connect_by_name(builder_.get())); }
  /// Adds the stages and connections of a JSON file.
  void read(const std::string& path) { detail::check(intarsia_pipeline_read(builder_.get(), path.c_str())); }

  /// Takes the stages and starts. `depth`: length of each queue in frames (0: 2, or as the file says).
  /// `timeout`: of a frame (0: none, or as the file says).
  Pipeline start(uint32_t depth = 0, std::chrono::nanoseconds timeout = {}) {
    intarsia_pipeline_options options{};
    options.struct_size = sizeof(options);
    options.depth = depth;
    options.timeout_ns = timeout.count();
    return start(options);
  }
  Pipeline start(const PipelineOptions& options) {
    intarsia_pipeline_options about{};
    about.struct_size = sizeof(about);
    about.depth = options.depth;
    about.timeout_ns = options.timeout.count();
    about.deadline_ns = options.deadline.count();
    about.queue = static_cast<int32_t>(options.queue);
    return start(about);
  }
  /// Accepts the C API's type only, so that braces mean a PipelineOptions.
  template <typename Options, typename = std::enable_if_t<std::is_same_v<Options, intarsia_pipeline_options>>>
  Pipeline start(const Options& options) {
    intarsia_pipeline* pipeline = nullptr;
    detail::check(intarsia_pipeline_start(builder_.get(), &options, &pipeline));
    return Pipeline(pipeline);
  }
  intarsia_pipeline_builder* get() const { return builder_.get(); }

 private:
  static intarsia_pipeline_builder* create() {
    intarsia_pipeline_builder* builder = nullptr;
    detail::check(intarsia_pipeline_builder_create(&builder));
    return builder;
  }
  static void call(void* user, intarsia_stage_call* call, const intarsia_tensor* inputs, size_t count) {
    try {
      StageCall frame(call, inputs, count);
      (*static_cast<StageFunction*>(user))(frame);
    } catch (const Dropped& dropped) {
      intarsia_stage_call_drop(call, dropped.what());
    } catch (const std::exception& error) {
      intarsia_stage_call_fail(call, error.what());
    } catch (...) {
      intarsia_stage_call_fail(call, "it threw what is not a std::exception");
    }
  }

  std::unique_ptr<intarsia_pipeline_builder, void (*)(intarsia_pipeline_builder*)> builder_;
};

}  // namespace v1
}  // namespace intarsia

#endif  // INTARSIA_INTARSIA_PIPELINE_HPP_
