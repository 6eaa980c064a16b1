#include "cli/commands/frame_stream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <intarsia/intarsia_compile.hpp>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/commands/contender.h"
#include "cli/commands/push_frame.h"
#include "cli/inputs/npy.h"

namespace {

using Clock = std::chrono::steady_clock;

/// Counts frames that leave, from any thread.
class FrameWindow {
 public:
  /// Leaves out the first `before` frames, at least 1, and counts the next `count`.
  FrameWindow(size_t before, size_t count) : before_(before), count_(count) {
    times_.latencies_ms.reserve(count);
  }

  void leave(Clock::time_point entered) {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    ++left_;
    if (left_ == before_) {
      begin_ = now;
      cpu_before_ = cpu_seconds_of_process();
    } else if (left_ > before_ && left_ <= before_ + count_) {
      times_.latencies_ms.push_back(std::chrono::duration<double, std::milli>(now - entered).count());
    }
    if (left_ == before_ + count_) {
      times_.seconds = std::chrono::duration<double>(now - begin_).count();
      times_.cpu_seconds = cpu_seconds_of_process() - cpu_before_;
    }
  }

  StreamTimes take() { return std::move(times_); }

 private:
  const size_t before_, count_;
  std::mutex mutex_;
  size_t left_ = 0;
  Clock::time_point begin_;
  double cpu_before_ = 0;
  StreamTimes times_;
};

/// Inputs read from files; frames that a pipeline leaves behind at its end may still use them.
struct StreamInputs {
  explicit StreamInputs(const Json& files) {
    for (const Json& input : files) {
      arrays.push_back(read_npy(input["file"], input["dtype"]));
      views.emplace_back(input["name"], arrays.back().view());
    }
    tensors = intarsia::detail::tensors(views);
  }
  StreamInputs(const StreamInputs&) = delete;
  StreamInputs& operator=(const StreamInputs&) = delete;

  std::list<Array> arrays;
  std::vector<intarsia::NamedView> views;  // views of `arrays`
  std::vector<intarsia_tensor> tensors;    // `views` as tensors
};

/// Binds all slots to `device`.
std::vector<intarsia::Binding> bind_all(const intarsia::Program& program, const std::string& device) {
  intarsia_program_info info{};
  info.struct_size = sizeof(info);
  intarsia::detail::check(intarsia_program_describe(program.get(), &info));
  std::vector<intarsia::Binding> bindings;
  for (size_t i = 0; i < info.slot_count; ++i) {
    intarsia_slot slot{};
    slot.struct_size = sizeof(slot);
    intarsia::detail::check(intarsia_program_slot(program.get(), i, &slot));
    bindings.emplace_back(slot.name, device);
  }
  return bindings;
}

class PipelineStream final : public FrameStream {
 public:
  explicit PipelineStream(const Json& work)
      : inputs_(std::make_shared<StreamInputs>(work["inputs"])),
        program_(intarsia::Program::load(work["path"])),
        pipeline_(start(program_, work)) {
    const intarsia::Function function = program_.functions().at(0);
    for (const intarsia::Argument& output : function.outputs) names_.push_back(output.name);
    for (const intarsia::StageStatistics& stage : pipeline_.statistics()) {
      stages_.push_back({{"name", stage.name}, {"replicas", stage.replicas}});
      lanes_ = std::max<size_t>(lanes_, stage.replicas);
      inside_ += stage.replicas + depth;
    }
  }

  const std::string& version() const override { return version_; }
  Json stages() const override { return stages_; }
  size_t lanes() const override { return lanes_; }

  StreamTimes run(size_t frames) override {
    FrameWindow window(inside_, frames);
    std::vector<Clock::time_point> entered;
    const size_t all = inside_ + frames + inside_;
    for (size_t popped = 0; popped < all; ++popped) {
      while (entered.size() < all) {
        const Clock::time_point now = Clock::now();
        if (!try_push_frame(pipeline_, inputs_->tensors, inputs_)) break;
        entered.push_back(now);
      }
      std::optional<intarsia::PoppedFrame> frame = pipeline_.pop(names_);
      window.leave(entered[popped]);
      last_ = std::move(frame->outputs);
    }
    return window.take();
  }

  std::vector<intarsia::Value> outputs() override { return std::move(last_); }

 private:
  static constexpr size_t depth = 2;

  static intarsia::Pipeline start(const intarsia::Program& program, const Json& work) {
    intarsia::PipelineBuilder builder;
    if (work["devices"].empty()) {
      builder.add_stages(program);
    } else {
      const std::string name = "whole";
      const int threads = work["threads"];
      for (size_t i = 0; i < work["devices"].size(); ++i) {
        const std::vector<intarsia::Binding> bindings = bind_all(program, work["devices"][i]);
        if (i == 0)
          builder.add(name, program, bindings, threads);
        else
          builder.add_replica(name, bindings, threads);
      }
    }
    builder.connect_by_name();
    return builder.start(depth);
  }

  const std::string version_ = intarsia_version();
  std::shared_ptr<const StreamInputs> inputs_;
  intarsia::Program program_;
  intarsia::Pipeline pipeline_;
  std::vector<std::string> names_;  // names of the outputs, in the program's order
  Json stages_ = Json::array();
  size_t lanes_ = 1, inside_ = depth;  // `inside_`: frames that it has room for
  std::vector<intarsia::Value> last_;
};

/// Stream of a peer, with a thread for each lane.
class PeerStream final : public FrameStream {
 public:
  PeerStream(const std::string& runtime, const Json& work)
      : inputs_(work["inputs"]),
        peer_(intarsia::Compiler::get().open_peer(runtime, "throughput", work["path"], work["threads"],
                                                  inputs_.views, work["signature"], work["op_libraries"],
                                                  precision_of(work))),
        version_(peer_.version()) {}

  const std::string& version() const override { return version_; }
  Json stages() const override { return nullptr; }
  size_t lanes() const override { return peer_.lane_count(); }

  StreamTimes run(size_t frames) override {
    FrameWindow window(lanes(), frames);
    std::atomic<size_t> begun{0};
    const size_t all = lanes() + frames + lanes();
    std::vector<std::string> errors(lanes());
    const auto work = [&](size_t lane) {
      try {
        while (begun.fetch_add(1) < all) {
          const Clock::time_point entered = Clock::now();
          peer_.run_lane(lane);
          window.leave(entered);
        }
      } catch (const std::exception& error) {
        errors[lane] = error.what();
      }
    };
    std::vector<std::thread> threads;
    for (size_t lane = 0; lane < lanes(); ++lane) threads.emplace_back(work, lane);
    for (std::thread& thread : threads) thread.join();
    for (const std::string& error : errors)
      if (!error.empty()) throw intarsia::Error(error);
    return window.take();
  }

  std::vector<intarsia::Value> outputs() override {
    peer_.run_lane(0);
    return peer_.outputs();
  }

 private:
  StreamInputs inputs_;
  intarsia::Peer peer_;
  std::string version_;
};

}  // namespace

std::unique_ptr<FrameStream> open_stream(const std::string& runtime, const Json& work) {
  if (runtime == "intarsia") return std::make_unique<PipelineStream>(work);
  return std::make_unique<PeerStream>(runtime, work);
}
