// Replicas that fail: which ones take over their frames, when they come back, and what is reported.
//
// Covers: src/pipeline/ replica_service.cc pipeline_service.cc
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "pipeline/pipeline.h"

namespace intarsia {
namespace {

using namespace std::chrono_literals;

const Error lost{"the chip is gone", ErrorKind::device_lost};
const Error full{"no room", ErrorKind::out_of_memory};
const Error odd{"an odd value", ErrorKind::io};
constexpr int64_t now = 1'000'000'000;

TEST(ReplicaService, ALostDeviceEndsServiceAlsoOfTheLast) {
  ReplicaService service(2);
  EXPECT_TRUE(service.failed(0, lost, false, now));
  EXPECT_FALSE(service.is_in_service(0));
  EXPECT_EQ(service[0].reason, "the chip is gone");
  EXPECT_TRUE(service.failed(1, lost, true, now));
  EXPECT_EQ(service.count_in_service(), 0u);
  EXPECT_EQ(service.reasons(), "replica 0: the chip is gone; replica 1: the chip is gone");
  EXPECT_EQ(service.kind(), ErrorKind::device_lost);
  EXPECT_EQ(service[1].repeats, 1u);
}

TEST(ReplicaService, OtherErrorsNeverEndTheServiceOfTheLast) {
  ReplicaService service(2);
  EXPECT_FALSE(service.failed(0, odd, false, now));
  service.succeeded(0, false);
  EXPECT_FALSE(service.failed(0, odd, false, now)) << "not in a row";
  EXPECT_TRUE(service.failed(0, odd, false, now));
  EXPECT_FALSE(service.failed(1, full, false, now));
  EXPECT_FALSE(service.failed(1, odd, false, now));
  EXPECT_TRUE(service.is_in_service(1));
  service.exonerate(0);
  EXPECT_TRUE(service.is_in_service(0));
  EXPECT_EQ(service[0].reason, "");
  EXPECT_TRUE(service.failed(1, full, false, now));
}

TEST(ReplicaService, WhatTheCallerIsToBlameForDoesNotCount) {
  ReplicaService service(2);
  for (const ErrorKind kind : {ErrorKind::invalid_argument, ErrorKind::timed_out, ErrorKind::cancelled})
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(service.failed(0, {"wrong", kind}, false, now));
  EXPECT_EQ(service[0].errors, 9u);
}

TEST(ReplicaService, PausesDoubleUntilOneWorks) {
  ReplicaService service(1);
  const auto fail_at = [&](int64_t time) {
    EXPECT_TRUE(service.failed(0, lost, false, time));
    return service.next_try_ns(0) - time;
  };
  EXPECT_EQ(fail_at(now), first_pause_ns);
  service.recovered(0, tl::unexpected(lost), now);
  EXPECT_EQ(service.next_try_ns(0) - now, 2 * first_pause_ns);
  service.recovered(0, {}, now);
  EXPECT_TRUE(service.is_in_service(0));
  EXPECT_EQ(fail_at(now), 4 * first_pause_ns);
  for (int i = 0; i < 20; ++i) service.recovered(0, tl::unexpected(lost), now);
  EXPECT_EQ(service.next_try_ns(0) - now, longest_pause_ns);
  service.recovered(0, {}, now);
  service.succeeded(0, false);
  EXPECT_EQ(fail_at(now), first_pause_ns);
}

/// Stage y = 2 x that fails while its device does not work.
class FaultyStage final : public Stage {
 public:
  struct Device {
    std::atomic<bool> works{true};
    std::atomic<int> runs{0}, recoveries{0};
    std::atomic<ErrorKind> kind{ErrorKind::device_lost};
    bool may_repeat = true;
  };
  explicit FaultyStage(Device& device) : device_(device) {}
  std::span<const StagePort> inputs() const override { return inputs_; }
  std::span<const StagePort> outputs() const override { return outputs_; }
  bool may_repeat() const override { return device_.may_repeat; }
  Status recover() override {
    ++device_.recoveries;
    if (!device_.works) return fail(ErrorKind::device_lost, "still gone");
    return {};
  }
  Status run(uint64_t, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
    ++device_.runs;
    std::this_thread::sleep_for(100us);
    if (!device_.works) return fail(device_.kind, "it is gone");
    *static_cast<float*>(outputs[0].tensor.data) = 2 * *static_cast<const float*>(inputs[0].tensor.data);
    return {};
  }

 private:
  Device& device_;
  std::vector<StagePort> inputs_{{"x", DType::f32, Shape{1}}}, outputs_{{"y", DType::f32, Shape{1}}};
};

template <size_t count>
std::unique_ptr<Pipeline> start(std::array<FaultyStage::Device, count>& devices) {
  PipelineGraph graph;
  PipelineGraph::NamedStage& stage = graph.stages.emplace_back(PipelineGraph::NamedStage{"net", {}});
  for (FaultyStage::Device& device : devices) stage.replicas.push_back(std::make_unique<FaultyStage>(device));
  graph.connect_by_name();
  return std::move(*Pipeline::start(graph, {}));
}

/// Runs `count` frames, which must leave in order with the right values; returns the errors of those that
/// fail.
std::vector<Error> run(Pipeline& pipeline, int count) {
  std::thread pusher([&] {
    for (int i = 0; i < count; ++i) {
      float x = static_cast<float>(i);
      EXPECT_TRUE(pipeline.push(std::vector{NamedTensor{"x", {&x, DType::f32, {1}}, nullptr}}));
    }
  });
  std::vector<Error> errors;
  for (int i = 0; i < count; ++i) {
    const PoppedFrame frame = pipeline.pop();
    if (!frame.status)
      errors.push_back(frame.status.error());
    else
      EXPECT_EQ(*static_cast<float*>(frame.outputs.at(0).tensor.data), 2 * static_cast<float>(i));
  }
  pusher.join();
  return errors;
}

bool wait_until(const std::function<bool()>& is_done) {
  for (int i = 0; i < 2000; ++i) {
    if (is_done()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

TEST(Replicas, OneThatIsLostTakesNoFramesUntilItIsBack) {
  std::array<FaultyStage::Device, 3> devices;
  const auto pipeline = start(devices);
  devices[0].works = false;
  EXPECT_TRUE(run(*pipeline, 200).empty());
  EXPECT_LE(devices[0].runs, 1);
  std::vector<ReplicaStatistics> replicas = pipeline->replicas(0);
  EXPECT_EQ(replicas[0].errors, replicas[1].repeats + replicas[2].repeats);
  devices[0].works = true;
  EXPECT_TRUE(wait_until([&] { return pipeline->replicas(0)[0].is_in_service; }));
  EXPECT_TRUE(run(*pipeline, 200).empty());
  EXPECT_EQ(pipeline->statistics()[0].errors, 0u);
}

TEST(Replicas, TheLastThatIsLostSaysWhy) {
  std::array<FaultyStage::Device, 2> devices;
  const auto pipeline = start(devices);
  for (auto& device : devices) device.works = false;
  const std::vector<Error> first = run(*pipeline, 1), next = run(*pipeline, 1);
  ASSERT_EQ(first.size() + next.size(), 2u);
  EXPECT_EQ(first[0].kind, ErrorKind::device_lost);
  EXPECT_NE(first[0].message.find("frame 0: stage 'net': it is gone; before, replica "), std::string::npos)
      << first[0].message;
  EXPECT_EQ(next[0].kind, ErrorKind::device_lost);
  EXPECT_EQ(next[0].message,
            "frame 1: stage 'net': no replica is in service: replica 0: it is gone; replica 1: it is gone");
  for (auto& device : devices) device.works = true;
  EXPECT_TRUE(wait_until([&] { return pipeline->replicas(0)[1].is_in_service; }));
  EXPECT_TRUE(run(*pipeline, 20).empty());
}

TEST(Replicas, WhatMustNotRunTwiceFailsItsFrame) {
  std::array<FaultyStage::Device, 2> devices;
  devices[0].may_repeat = false;
  const auto pipeline = start(devices);
  devices[0].works = false;
  EXPECT_TRUE(wait_until([&] { return !run(*pipeline, 10).empty(); }));
  EXPECT_FALSE(pipeline->replicas(0)[0].is_in_service);
  EXPECT_EQ(pipeline->replicas(0)[1].repeats, 0u);
}

/// Combines frames, faults and recoveries: nothing waits forever, and nothing is lost.
TEST(Replicas, FaultsThatComeAndGo) {
  std::array<FaultyStage::Device, 3> devices;
  const auto pipeline = start(devices);
  std::atomic<bool> is_over = false;
  std::thread faults([&] {
    for (size_t i = 0; !is_over; ++i) {
      FaultyStage::Device& device = devices[i % devices.size()];
      device.kind = i % 2 == 0 ? ErrorKind::device_lost : ErrorKind::io;
      device.works = !device.works;
      std::this_thread::sleep_for(3ms);
    }
  });
  run(*pipeline, 1500);
  is_over = true;
  faults.join();
  pipeline->finish();
  EXPECT_EQ(pipeline->pop().state, PopState::ended);
}

TEST(Replicas, APipelineEndsWhileOneIsOutOfService) {
  std::array<FaultyStage::Device, 2> devices;
  const auto pipeline = start(devices);
  devices[1].works = false;
  run(*pipeline, 20);
  pipeline->finish();
  EXPECT_EQ(pipeline->pop().state, PopState::ended);
}

}  // namespace
}  // namespace intarsia
