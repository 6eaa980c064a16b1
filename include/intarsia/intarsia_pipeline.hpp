// Intarsia's pipelines for C++17: intarsia_pipeline.h with values, lifetimes and exceptions. Header only;
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

/// One frame in a stage that is a function; valid during the call.
class StageCall {
 public:
  StageCall(intarsia_stage_call* call, const intarsia_tensor* inputs, size_t input_count)
      : call_(call), inputs_(inputs), input_count_(input_count) {}

  uint64_t frame() const { return intarsia_stage_call_frame(call_); }
  size_t input_count() const { return input_count_; }
  /// In the order of their declaration, to be read only.
  const intarsia_tensor& input(size_t i) const { return inputs_[i]; }
  /// Memory of an output to fill in, of any content.
  template <typename T>
  T* allocate(size_t output, const std::vector<int64_t>& shape) {
    void* data = nullptr;
    detail::check(intarsia_stage_call_allocate(call_, output, detail::dtype_of<T>(), shape.size(),
                                               shape.data(), &data));
    return static_cast<T*>(data);
  }
  /// Copies the view.
  void give(size_t output, const View& view) {
    const std::string unnamed;
    const intarsia_tensor tensor = detail::tensor(unnamed, view);
    detail::check(intarsia_stage_call_give(call_, output, &tensor, nullptr, nullptr));
  }
  /// Uses the view in place; `owner` keeps its memory alive.
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

/// What it throws is the frame's error.
using StageFunction = std::function<void(StageCall&)>;

/// Of a stage (intarsia_stage_statistics).
struct StageStatistics {
  std::string name;
  uint32_t replicas = 1;
  uint64_t frames = 0, errors = 0;
  std::chrono::nanoseconds busy{}, waiting{}, blocked{};
  size_t queued = 0, most_queued = 0;
  uint32_t running = 0;  // replicas that have a frame now
};

/// A frame that has left, in the order of the pushes.
struct PoppedFrame {
  uint64_t number = 0;
  std::chrono::nanoseconds latency{};  // from its push to the end of its last stage
  std::vector<Value> outputs;          // as requested
};

/// What a frame ended with.
class FrameError : public Error {
 public:
  FrameError(uint64_t frame, const Error& error) : Error(error.what(), error.kind()), frame_(frame) {}
  uint64_t frame() const noexcept { return frame_; }

 private:
  uint64_t frame_;
};

/// Frames through stages that work at the same time. All calls may come from any threads. Move-only; its end
/// cancels (intarsia_pipeline_release).
class Pipeline {
 public:
  explicit Pipeline(intarsia_pipeline* pipeline) : pipeline_(pipeline, intarsia_pipeline_release) {}

  /// Copies the inputs and waits for room; the frame's number, counted from 0.
  uint64_t push(const std::vector<NamedView>& inputs) { return *push_within(inputs, -1); }
  /// Waits at most that long. Nothing: the queue stayed full.
  std::optional<uint64_t> push_for(const std::vector<NamedView>& inputs, std::chrono::nanoseconds wait) {
    return push_within(inputs, wait.count() < 0 ? 0 : wait.count());
  }
  std::optional<uint64_t> try_push(const std::vector<NamedView>& inputs) { return push_within(inputs, 0); }
  /// The next frame; waits for it. Nothing: none comes any more. Throws FrameError for a frame that failed;
  /// the next call goes on with the frame after it.
  std::optional<PoppedFrame> pop(const std::vector<std::string>& outputs) { return take(outputs, -1); }
  /// The same; also nothing where no frame comes within the time (`ended` tells which).
  std::optional<PoppedFrame> pop_for(const std::vector<std::string>& outputs, std::chrono::nanoseconds wait,
                                     bool* ended = nullptr) {
    return take(outputs, wait.count() < 0 ? 0 : wait.count(), ended);
  }
  /// Into the caller's buffers, by copying. False: no frame comes any more.
  bool pop_into(const std::vector<NamedView>& outputs) {
    std::vector<intarsia_tensor> to = detail::tensors(outputs);
    return call_pop(to, -1).state == INTARSIA_POP_FRAME;
  }
  /// No frame is pushed any more; those inside go on.
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
                     one.running});
    }
    return all;
  }
  std::vector<Argument> inputs() const { return arguments(intarsia_pipeline_input, describe().input_count); }
  std::vector<Argument> outputs() const {
    return arguments(intarsia_pipeline_output, describe().output_count);
  }
  intarsia_pipeline* get() const { return pipeline_.get(); }

 private:
  std::optional<uint64_t> push_within(const std::vector<NamedView>& inputs, int64_t wait_ns) {
    const std::vector<intarsia_tensor> given = detail::tensors(inputs);
    uint64_t frame = 0;
    int32_t pushed = 0;
    detail::check(intarsia_pipeline_push(pipeline_.get(), wait_ns, given.data(), given.size(), nullptr,
                                         &pushed, &frame));
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
      if (frame.state == INTARSIA_POP_FRAME) throw FrameError(frame.number, thrown);
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
    PoppedFrame popped{frame.number, std::chrono::nanoseconds(frame.done_ns - frame.pushed_ns), {}};
    for (const intarsia_tensor& tensor : to) popped.outputs.emplace_back(tensor);
    return popped;
  }

  std::unique_ptr<intarsia_pipeline, void (*)(intarsia_pipeline*)> pipeline_;
};

namespace detail {

/// The form that the C API takes, but for what is called; refers to the names, which must outlive it.
class FunctionPorts {
 public:
  FunctionPorts(const std::string& stage, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs, const std::string& cores, uint32_t threads) {
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
  }
  FunctionPorts(const FunctionPorts&) = delete;
  FunctionPorts& operator=(const FunctionPorts&) = delete;

  intarsia_stage_function about{};

 private:
  std::vector<const char*> inputs_, outputs_;
};

}  // namespace detail

/// What a pipeline is made of: stages in an order in which values flow forward, and connections.
class PipelineBuilder {
 public:
  PipelineBuilder() : builder_(create(), intarsia_pipeline_builder_release) {}

  /// A function of a program; bind it to cores of its own. `function` may be empty when the program has one.
  void add(const std::string& stage, const Program& program, const std::vector<Binding>& devices = {},
           int threads = 0, const std::string& function = {}) {
    const detail::BindOptions options(devices, threads);
    detail::check(intarsia_pipeline_add_program(builder_.get(), stage.c_str(), program.get(),
                                                function.empty() ? nullptr : function.c_str(),
                                                options.get()));
  }
  /// The stages that a function was compiled with, as "stage0", "stage1", ..., on executors of their own.
  void add_stages(const Program& program, const std::string& function = {}) {
    detail::check(intarsia_pipeline_add_stages(builder_.get(), program.get(),
                                               function.empty() ? nullptr : function.c_str()));
  }
  /// Another session of that stage.
  void add_replica(const std::string& stage, const std::vector<Binding>& devices = {}, int threads = 0) {
    const detail::BindOptions options(devices, threads);
    detail::check(intarsia_pipeline_add_replica(builder_.get(), stage.c_str(), options.get()));
  }
  /// The same of another program with the stage's inputs and outputs, compiled for an unlike device.
  void add_replica(const std::string& stage, const Program& program, const std::vector<Binding>& devices = {},
                   int threads = 0, const std::string& function = {}) {
    const detail::BindOptions options(devices, threads);
    detail::check(intarsia_pipeline_add_replica_program(builder_.get(), stage.c_str(), program.get(),
                                                        function.empty() ? nullptr : function.c_str(),
                                                        options.get()));
  }
  /// A function of yours, called by `threads` threads at once, which are held to `cores` ("0-1"; empty: any).
  void add(const std::string& stage, const std::vector<std::string>& inputs,
           const std::vector<std::string>& outputs, StageFunction function, const std::string& cores = {},
           uint32_t threads = 1) {
    auto kept = std::make_unique<StageFunction>(std::move(function));
    detail::FunctionPorts ports(stage, inputs, outputs, cores, threads);
    ports.about.run = call;
    ports.about.user = kept.get();
    ports.about.release = [](void* user) { delete static_cast<StageFunction*>(user); };
    detail::check(intarsia_pipeline_add_function(builder_.get(), &ports.about));
    kept.release();
  }
  /// From an output of a stage (empty: an input of the pipeline of that name) to an input of a stage (empty:
  /// an output of the pipeline).
  void connect(const std::string& from, const std::string& output, const std::string& to,
               const std::string& input) {
    detail::check(
        intarsia_pipeline_connect(builder_.get(), from.c_str(), output.c_str(), to.c_str(), input.c_str()));
  }
  /// Connects what is not connected to the output, or the pipeline's input, of its name.
  void connect_by_name() { detail::check(intarsia_pipeline_connect_by_name(builder_.get())); }
  /// Adds the stages and connections of a JSON file.
  void read(const std::string& path) { detail::check(intarsia_pipeline_read(builder_.get(), path.c_str())); }

  /// Takes the stages. `depth` of each queue in frames (0: 2, or as the file says), `timeout` of a frame (0:
  /// none).
  Pipeline start(uint32_t depth = 0, std::chrono::nanoseconds timeout = {}) {
    intarsia_pipeline_options options{};
    options.struct_size = sizeof(options);
    options.depth = depth;
    options.timeout_ns = timeout.count();
    return start(options);
  }
  Pipeline start(const intarsia_pipeline_options& options) {
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
