// What a pipeline costs beyond its stages: a hand-over between busy stages, waking one that sleeps, a lone
// frame, and a stage that waits. Prints one JSON object; aims: under 5 us, under 20 us, at most 30 us a
// stage, under 1% of a core.
//
//   build/bin/bench_frames [STAGES]
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "pipeline/pipeline.h"

namespace {

using namespace intarsia;

/// Works for a while; writes when it began and ended.
class WorkingStage final : public Stage {
 public:
  explicit WorkingStage(int64_t nanoseconds) : nanoseconds_(nanoseconds) {}
  std::span<const StagePort> inputs() const override { return inputs_; }
  std::span<const StagePort> outputs() const override { return outputs_; }
  Status run(uint64_t, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
    const int64_t begin = clock_nanoseconds();
    const auto* before = static_cast<const int64_t*>(inputs[0].tensor.data);
    auto* times = static_cast<int64_t*>(outputs[0].tensor.data);
    std::copy_n(before, 64, times);
    const int64_t number = times[0]++;
    while (clock_nanoseconds() < begin + nanoseconds_) {
    }
    times[1 + 2 * number] = begin;
    times[2 + 2 * number] = clock_nanoseconds();
    return {};
  }

 private:
  int64_t nanoseconds_;
  std::vector<StagePort> inputs_{{"times", DType::i64, Shape{64}}}, outputs_ = inputs_;
};

std::unique_ptr<Pipeline> start(size_t stages, int64_t nanoseconds) {
  PipelineGraph graph;
  for (size_t i = 0; i < stages; ++i) {
    graph.stages.push_back({std::to_string(i), {}});
    graph.stages.back().replicas.push_back(std::make_unique<WorkingStage>(nanoseconds));
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

/// Microseconds from a frame's end in a stage to its begin in the next, with nobody else inside; and what a
/// lone frame takes beyond its stages, for each of them.
struct Lone {
  double wake_us = 0, overhead_us = 0;
};
Lone measure_lone(size_t stages) {
  const auto pipeline = start(stages, 50'000);
  std::vector<double> wakes, overheads;
  for (int i = 0; i < 2000; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));  // all of them sleep
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

/// Microseconds of a frame beyond its slowest stage, when both stages always have one.
double measure_busy() {
  constexpr int frames = 20'000;
  constexpr int64_t work_ns = 50'000;
  const auto pipeline = start(2, work_ns);
  std::thread pusher([&] {
    for (int i = 0; i < frames; ++i) push(*pipeline);
  });
  std::vector<int64_t> begins;
  for (int i = 0; i < frames; ++i)
    begins.push_back(static_cast<const int64_t*>(pipeline->pop().outputs[0].tensor.data)[3]);
  pusher.join();
  std::vector<double> beyond;
  for (size_t i = 1; i < begins.size(); ++i)
    beyond.push_back(static_cast<double>(begins[i] - begins[i - 1] - work_ns) / 1e3);
  return median(beyond);
}

/// Share of a core of two stages that wait for a second.
double measure_waiting() {
  const auto cpu_us = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const auto pipeline = start(2, 0);
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
      "{\"stages\": %d, \"hand_over_busy_us\": %.2f, \"wake_us\": %.2f, \"lone_frame_us_a_stage\": %.2f, "
      "\"waiting_share_of_a_core\": %.5f}\n",
      stages, measure_busy(), lone.wake_us, lone.overhead_us, measure_waiting());
}
