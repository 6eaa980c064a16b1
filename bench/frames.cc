// Cost of a pipeline beyond its stages: a handover between busy stages, waking one that sleeps, a lone frame,
// and a stage that waits. Prints one JSON object; aims: under 5 us, under 20 us, at most 30 us a stage, under
// 1% of a core. Busy stages are measured twice: alone on their cores, and with two more threads that push and
// pop, which on two cores interrupt them.
//
//   build/bin/bench_frames [STAGES]
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "pipeline/pipeline.h"

namespace {

using namespace intarsia;

/// Work of a stage, which writes when it started and ended. `extra` is a part of its work.
struct Work {
  int64_t nanoseconds = 0;
  std::optional<CoreSet> cores = {};
  std::function<void()> extra = {};
};

class WorkingStage final : public Stage {
 public:
  explicit WorkingStage(Work work) : work_(std::move(work)) {}
  std::optional<CoreSet> cores() const override { return work_.cores; }
  std::span<const StagePort> inputs() const override { return inputs_; }
  std::span<const StagePort> outputs() const override { return outputs_; }
  Status run(uint64_t, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
    const int64_t begin = clock_nanoseconds();
    if (work_.extra) work_.extra();
    const auto* before = static_cast<const int64_t*>(inputs[0].tensor.data);
    auto* times = static_cast<int64_t*>(outputs[0].tensor.data);
    std::copy_n(before, 64, times);
    const int64_t number = times[0]++;
    while (clock_nanoseconds() < begin + work_.nanoseconds) {
    }
    times[1 + 2 * number] = begin;
    times[2 + 2 * number] = clock_nanoseconds();
    return {};
  }

 private:
  Work work_;
  std::vector<StagePort> inputs_{{"times", DType::i64, Shape{64}}}, outputs_ = inputs_;
};

std::unique_ptr<Pipeline> start(std::vector<Work> stages) {
  PipelineGraph graph;
  for (Work& work : stages) {
    graph.stages.push_back({std::to_string(graph.stages.size()), {}});
    graph.stages.back().replicas.push_back(std::make_unique<WorkingStage>(std::move(work)));
  }
  graph.connect_by_name();
  return std::move(Pipeline::start(graph, {}).value());
}

void push(Pipeline& pipeline) {
  std::vector<int64_t> times(64);
  const std::vector<NamedTensor> inputs{{"times", TensorView{times.data(), DType::i64, Shape{64}}, nullptr}};
  static_cast<void>(pipeline.push(inputs).value());
}

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

/// Microseconds from a frame's end in a stage to its start in the next, with no other frame inside; and what
/// a lone frame takes beyond its stages, for each of them.
struct Lone {
  double wake_us = 0, overhead_us = 0;
};
Lone measure_lone(size_t stages) {
  const auto pipeline = start(std::vector<Work>(stages, {50'000}));
  std::vector<double> wakes, overheads;
  for (int i = 0; i < 2000; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));  // lets the stages fall asleep
    const int64_t begin = clock_nanoseconds();
    push(*pipeline);
    const PoppedFrame frame = pipeline->pop();
    const int64_t end = clock_nanoseconds();
    const auto* times = static_cast<const int64_t*>(frame.outputs[0].tensor.data);
    int64_t work = 0;
    for (size_t s = 0; s < stages; ++s) {
      work += times[2 + 2 * s] - times[1 + 2 * s];
      if (s > 0) wakes.push_back(static_cast<double>(times[1 + 2 * s] - times[2 * s]) / 1e3);
    }
    overheads.push_back(static_cast<double>(end - begin - work) / 1e3 / static_cast<double>(stages));
  }
  return {wakes.empty() ? 0 : median(wakes), median(overheads)};
}

constexpr int busy_frames = 20'000;
constexpr int64_t busy_work_ns = 50'000;

/// Returns the median microseconds from the start of a frame to that of the next beyond the work.
double beyond_work(const std::vector<int64_t>& begins) {
  std::vector<double> beyond;
  for (size_t i = 1; i < begins.size(); ++i)
    beyond.push_back(static_cast<double>(begins[i] - begins[i - 1] - busy_work_ns) / 1e3);
  return median(beyond);
}

/// Returns one of the cores that this process may use.
CoreSet core(size_t number) {
  const std::vector<int> usable = CoreSet::of_this_thread().numbers();
  return CoreSet::parse(std::to_string(usable[number % usable.size()])).value();
}

/// Measures two stages that always have a frame: the first pushes, and the second pops, within its work.
double measure_busy_alone() {
  int pushed = 2;  // frames that are pushed from outside
  std::vector<int64_t> begins;
  std::promise<void> done;
  Pipeline* running = nullptr;
  const auto feed = [&] {
    if (pushed++ < busy_frames) push(*running);
  };
  const auto drain = [&] {
    begins.push_back(clock_nanoseconds());
    static_cast<void>(running->pop(0));
    if (begins.size() == busy_frames) done.set_value();
  };
  const auto pipeline = start({{busy_work_ns, core(0), feed}, {busy_work_ns, core(1), drain}});
  running = pipeline.get();
  push(*pipeline);
  push(*pipeline);
  done.get_future().wait();
  return beyond_work(begins);
}

double measure_busy_with_callers() {
  const auto pipeline = start({{busy_work_ns, core(0)}, {busy_work_ns, core(1)}});
  std::thread pusher([&] {
    for (int i = 0; i < busy_frames; ++i) push(*pipeline);
  });
  std::vector<int64_t> begins;
  for (int i = 0; i < busy_frames; ++i)
    begins.push_back(static_cast<const int64_t*>(pipeline->pop().outputs[0].tensor.data)[3]);
  pusher.join();
  return beyond_work(begins);
}

/// Measures the share of a core of two stages that wait for a second.
double measure_waiting() {
  const auto cpu_us = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const auto pipeline = start({{}, {}});
  push(*pipeline);
  static_cast<void>(pipeline->pop());
  const double before = cpu_us();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return (cpu_us() - before) / 1e6;
}

}  // namespace

int main(int count, char** arguments) {
  const int stages = count > 1 ? std::atoi(arguments[1]) : 2;
  if (stages < 1 || stages > 31) {
    std::fprintf(stderr, "error: %s: want 1 to 31 stages\n", arguments[1]);
    return 2;
  }
  const Lone lone = measure_lone(static_cast<size_t>(stages));
  std::printf(
      "{\"stages\": %d, \"hand_over_busy_us\": %.2f, \"hand_over_busy_with_callers_us\": %.2f, \"wake_us\": "
      "%.2f, "
      "\"lone_frame_us_a_stage\": %.2f, \"waiting_share_of_a_core\": %.5f}\n",
      stages, measure_busy_alone(), measure_busy_with_callers(), lone.wake_us, lone.overhead_us,
      measure_waiting());
}
