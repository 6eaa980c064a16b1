// Needs of live video: queues that drop, deadlines, what a frame carries, times as histograms.
//
// Covers: src/pipeline/ pipeline_state.cc pipeline_workers.cc time_histogram.h
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "pipeline/pipeline.h"
#include "pipeline/time_histogram.h"

namespace intarsia {
namespace {

using namespace std::chrono_literals;

/// Stage that runs a function and copies one float.
class HookedStage final : public Stage {
 public:
  using Hook = std::function<Status(uint64_t frame)>;
  explicit HookedStage(Hook hook) : hook_(std::move(hook)) {}
  std::span<const StagePort> inputs() const override { return ports_; }
  std::span<const StagePort> outputs() const override { return ports_; }
  Status run(uint64_t frame, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
    TRY(hook_(frame));
    *static_cast<float*>(outputs[0].tensor.data) = *static_cast<const float*>(inputs[0].tensor.data);
    return {};
  }

 private:
  Hook hook_;
  std::vector<StagePort> ports_{{"x", DType::f32, Shape{1}}};
};

/// Hook that stops at the first frame until it is released.
struct Stop {
  std::promise<void> entered, released;
  std::shared_future<void> release = released.get_future().share();

  Status operator()(uint64_t frame) {
    if (frame == 0) {
      entered.set_value();
      release.wait();
    }
    return {};
  }
};

PipelineGraph::NamedStage hooked(const std::string& name, HookedStage::Hook hook, StageOptions options = {}) {
  PipelineGraph::NamedStage stage{.name = name, .replicas = {}, .options = std::move(options)};
  stage.replicas.push_back(std::make_unique<HookedStage>(std::move(hook)));
  return stage;
}

template <typename... Stages>
std::unique_ptr<Pipeline> start(PipelineOptions options, Stages... stages) {
  PipelineGraph graph;
  (graph.stages.push_back(std::move(stages)), ...);
  graph.connect_by_name();
  return Pipeline::start(graph, std::move(options)).value();
}

bool push_frame(Pipeline& pipeline, float x, FrameOptions options = {}) {
  const std::vector<NamedTensor> inputs{{"x", TensorView{&x, DType::f32, Shape{1}}, nullptr}};
  return pipeline.push(inputs, 0, options).value().has_value();
}

/// Pops the remaining frames; returns, in order, '.' for those that worked, 'd' for dropped, 'e' for other
/// errors.
std::string pop_all(Pipeline& pipeline) {
  pipeline.finish();
  std::string all;
  for (PoppedFrame frame = pipeline.pop(); frame.state == PopState::frame; frame = pipeline.pop()) {
    EXPECT_EQ(frame.id, all.size());
    if (frame.status) {
      EXPECT_EQ(*static_cast<float*>(frame.outputs.at(0).tensor.data), static_cast<float>(frame.id));
    }
    all += frame.status ? '.' : frame.status.error().kind == ErrorKind::dropped ? 'd' : 'e';
  }
  return all;
}

TEST(LiveFrames, AFullQueueDropsTheOldest) {
  Stop stop;
  const auto pipeline =
      start({.depth = 2, .queue = QueuePolicy::drop_oldest}, hooked("slow", std::ref(stop)));
  ASSERT_TRUE(push_frame(*pipeline, 0));
  stop.entered.get_future().wait();
  // The queue has two places; each later frame replaces the oldest, and no push waits.
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(push_frame(*pipeline, static_cast<float>(i)));
  EXPECT_EQ(pipeline->statistics()[0].queued, 2u);
  stop.released.set_value();
  // The end of the pipeline also drops frames where nobody pops: it has room for the three finished ones only
  // as they leave.
  const std::string all = pop_all(*pipeline);
  EXPECT_EQ(all.substr(1, 3), "ddd");
  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(all[5], '.');
  EXPECT_EQ(pipeline->statistics()[0].dropped, 3u);
}

TEST(LiveFrames, TheLatestOnly) {
  Stop stop;
  const auto pipeline = start({.depth = 8}, hooked("slow", std::ref(stop), {.queue = QueuePolicy::latest}));
  ASSERT_TRUE(push_frame(*pipeline, 0));
  stop.entered.get_future().wait();
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(push_frame(*pipeline, static_cast<float>(i)));
  stop.released.set_value();
  EXPECT_EQ(pop_all(*pipeline), ".dddd.");
  const FrameStatistics frames = pipeline->frame_statistics();
  EXPECT_EQ(frames.pushed, 6u);
  EXPECT_EQ(frames.done, 2u);
  EXPECT_EQ(frames.dropped, 4u);
}

TEST(LiveFrames, ADroppedFrameSaysWhereAndWhy) {
  Stop stop;
  const auto pipeline = start({}, hooked("slow", std::ref(stop), {.queue = QueuePolicy::latest}));
  push_frame(*pipeline, 0);
  stop.entered.get_future().wait();
  push_frame(*pipeline, 1);
  push_frame(*pipeline, 2);
  stop.released.set_value();
  EXPECT_TRUE(pipeline->pop().status);
  const PoppedFrame dropped = pipeline->pop();
  EXPECT_EQ(dropped.status.error().message, "frame 1: dropped before stage 'slow', as a later one came");
  EXPECT_TRUE(dropped.outputs.empty());
  EXPECT_TRUE(pipeline->pop().status);
}

/// Checks a frame of which one branch is dropped while the other runs: it is one frame.
TEST(LiveFrames, BranchesAgreeOnADrop) {
  Stop stop;
  PipelineGraph graph;
  graph.stages.push_back(hooked("fast", [](uint64_t) { return Status(); }));
  graph.stages.push_back(hooked("slow", std::ref(stop), {.queue = QueuePolicy::latest}));
  graph.connections = {{{"", "x"}, {"fast", "x"}},
                       {{"", "x"}, {"slow", "x"}},
                       {{"fast", "x"}, {"", "a"}},
                       {{"slow", "x"}, {"", "b"}}};
  const auto pipeline = Pipeline::start(graph, {.depth = 8}).value();
  push_frame(*pipeline, 0);
  stop.entered.get_future().wait();
  for (int i = 1; i <= 3; ++i) push_frame(*pipeline, static_cast<float>(i));
  stop.released.set_value();
  EXPECT_EQ(pop_all(*pipeline), ".dd.");
}

TEST(LiveFrames, ADeadlineDropsBeforeWorkIsDone) {
  Stop stop;
  std::atomic<int> runs{0};
  const auto pipeline = start({.depth = 8, .deadline_ns = 3'600'000'000'000}, hooked("slow", std::ref(stop)),
                              hooked("next", [&](uint64_t) {
                                ++runs;
                                return Status();
                              }));
  push_frame(*pipeline, 0, {.deadline_ns = 500'000'000});
  const auto started = stop.entered.get_future().wait_for(1min);
  ASSERT_EQ(started, std::future_status::ready) << "frame 0 starts in time, and is late at the next stage";
  push_frame(*pipeline, 1, {.deadline_ns = 1'000'000});
  push_frame(*pipeline, 2);
  std::this_thread::sleep_for(510ms);
  stop.released.set_value();
  const PoppedFrame first = pipeline->pop(), second = pipeline->pop();
  EXPECT_NE(first.status.error().message.find("frame 0: dropped before stage 'next', "), std::string::npos);
  EXPECT_NE(first.status.error().message.find(" ms after its push (deadline 500.000 ms)"), std::string::npos);
  EXPECT_NE(second.status.error().message.find("frame 1: dropped before stage 'slow', "), std::string::npos);
  EXPECT_EQ(second.status.error().kind, ErrorKind::dropped);
  EXPECT_TRUE(pipeline->pop().status);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(pipeline->statistics()[0].dropped, 1u);
  EXPECT_EQ(pipeline->statistics()[1].dropped, 1u);
}

TEST(LiveFrames, AStageMayDropAFrame) {
  const auto pipeline = start({.depth = 8}, hooked("filter", [](uint64_t frame) -> Status {
                                if (frame % 2 == 1) return fail(ErrorKind::dropped, "nothing moved");
                                return {};
                              }));
  for (int i = 0; i < 5; ++i) push_frame(*pipeline, static_cast<float>(i));
  EXPECT_EQ(pop_all(*pipeline), ".d.d.");
  EXPECT_EQ(pipeline->statistics()[0].errors, 0u);
  EXPECT_EQ(pipeline->statistics()[0].dropped, 2u);
  EXPECT_EQ(pipeline->replicas(0)[0].errors, 0u);
}

TEST(LiveFrames, WhatAFrameCarriesComesBack) {
  int user = 0;
  const auto pipeline = start({}, hooked("any", [](uint64_t) { return Status(); }));
  push_frame(*pipeline, 0, {.timestamp = -40, .user = &user});
  push_frame(*pipeline, 1);
  const PoppedFrame first = pipeline->pop();
  EXPECT_EQ(first.given.timestamp, -40);
  EXPECT_EQ(first.given.user, &user);
  EXPECT_EQ(pipeline->pop().given.user, nullptr);
}

/// Checks the number of dropped frames that wait to be popped; each takes little memory, but it is bounded.
TEST(LiveFrames, FramesThatNobodyPopsAreBounded) {
  const auto pipeline =
      start({.queue = QueuePolicy::latest}, hooked("any", [](uint64_t) { return Status(); }));
  size_t pushed = 0;
  while (push_frame(*pipeline, 0) && pushed < 100'000) ++pushed;
  EXPECT_EQ(pushed, 65'536u);
  EXPECT_EQ(pipeline->pop().state, PopState::frame);
  EXPECT_TRUE(push_frame(*pipeline, 0));
}

TEST(LiveFrames, TimesAreCounted) {
  const auto pipeline = start({.depth = 8}, hooked("any", [](uint64_t) {
                                std::this_thread::sleep_for(2ms);
                                return Status();
                              }));
  for (int i = 0; i < 4; ++i) push_frame(*pipeline, static_cast<float>(i));
  EXPECT_EQ(pop_all(*pipeline), "....");
  const auto count_from = [](const TimeHistogram& times, int64_t least_ns) {
    uint64_t count = 0;
    for (size_t b = 0; b < TimeHistogram::size; ++b)
      if (TimeHistogram::bound_ns(b) > least_ns) count += times.counts()[b];
    return count;
  };
  const StageStatistics stage = pipeline->statistics()[0];
  EXPECT_EQ(count_from(stage.run, 2'000'000), 4u);
  EXPECT_EQ(count_from(stage.queue, 0), 4u);
  EXPECT_GE(count_from(stage.queue, 2'000'000), 2u);
  EXPECT_EQ(count_from(pipeline->frame_statistics().latency, 2'000'000), 4u);
}

TEST(TimeHistogram, ATimeIsBetweenTheBoundsOfItsBucket) {
  for (const int64_t time :
       {int64_t{-5}, int64_t{0}, int64_t{999}, int64_t{1000}, int64_t{1249}, int64_t{1250}, int64_t{1999},
        int64_t{2000}, int64_t{2'000'000}, int64_t{63'999'999'999}, int64_t{1} << 36, INT64_MAX}) {
    TimeHistogram times;
    times.add(time);
    const auto bucket = static_cast<size_t>(std::ranges::find(times.counts(), 1u) - times.counts().begin());
    ASSERT_LT(bucket, TimeHistogram::size) << time;
    const bool is_first = bucket == 0, is_last = bucket + 1 == TimeHistogram::size;
    const int64_t most = TimeHistogram::bound_ns(bucket),
                  least = is_first ? -5 : TimeHistogram::bound_ns(bucket - 1);
    EXPECT_GE(time, least);
    EXPECT_TRUE(time < most || is_last) << time;
    EXPECT_TRUE(is_first || is_last || most <= least * 5 / 4) << time;
  }
  EXPECT_EQ(TimeHistogram::bound_ns(0), 1000);
  EXPECT_EQ(TimeHistogram::bound_ns(TimeHistogram::size - 1), INT64_MAX);
}

}  // namespace
}  // namespace intarsia
