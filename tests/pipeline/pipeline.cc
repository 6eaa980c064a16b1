// Frames through stages: order, back-pressure, errors, timeouts, ends, memory.
//
// Covers: src/pipeline/ pipeline.cc pipeline_state.cc pipeline_workers.cc buffer_pool.cc
#include "pipeline/pipeline.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <functional>
#include <future>
#include <random>
#include <thread>

#include "base/clock.h"
#include "pipeline/buffer_pool.h"
#include "tests/support/rounds.h"

namespace intarsia {
namespace {

using namespace std::chrono_literals;

/// Stage whose output is a function of its input, one float each.
class FloatStage final : public Stage {
 public:
  using Function = std::function<Result<float>(uint64_t frame, float x)>;
  explicit FloatStage(Function function) : function_(std::move(function)) {}
  std::span<const StagePort> inputs() const override { return inputs_; }
  std::span<const StagePort> outputs() const override { return outputs_; }
  Status run(uint64_t frame, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
    *static_cast<float*>(outputs[0].tensor.data) =
        TRY(function_(frame, *static_cast<const float*>(inputs[0].tensor.data)));
    return {};
  }

 private:
  Function function_;
  std::vector<StagePort> inputs_{{"x", DType::f32, Shape{1}}}, outputs_{{"x", DType::f32, Shape{1}}};
};

std::unique_ptr<Stage> stage(FloatStage::Function function) {
  return std::make_unique<FloatStage>(std::move(function));
}

void add(PipelineGraph& graph, const std::string& name, FloatStage::Function function, int replicas = 1) {
  PipelineGraph::NamedStage& named = graph.stages.emplace_back(PipelineGraph::NamedStage{name, {}});
  for (int i = 0; i < replicas; ++i) named.replicas.push_back(stage(function));
}

std::unique_ptr<Pipeline> start(PipelineGraph graph, PipelineOptions options = {}) {
  if (graph.connections.empty()) graph.connect_by_name();
  auto pipeline = Pipeline::start(graph, std::move(options));
  if (!pipeline) throw std::runtime_error(pipeline.error().message);
  return std::move(*pipeline);
}

NamedTensor input(float& x) { return {"x", TensorView{&x, DType::f32, Shape{1}}, nullptr}; }

uint64_t push(Pipeline& pipeline, float x) {
  const std::vector<NamedTensor> inputs{input(x)};
  const auto frame = pipeline.push(inputs);
  if (!frame) throw std::runtime_error(frame.error().message);
  return frame->value();
}

bool try_push(Pipeline& pipeline, float x) {
  const std::vector<NamedTensor> inputs{input(x)};
  return pipeline.push(inputs, 0).value().has_value();
}

float result(const PoppedFrame& frame) { return *static_cast<float*>(frame.outputs.at(0).tensor.data); }

/// Gate that stages wait at until it is opened.
class Gate {
 public:
  void wait() { opened_.wait(); }
  void open() { promise_.set_value(); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> opened_{promise_.get_future()};
};

TEST(Pipeline, FramesLeaveInOrderWithTheirResults) {
  PipelineGraph graph;
  add(graph, "plus1", [](uint64_t, float x) { return x + 1; });
  add(graph, "times2", [](uint64_t, float x) { return 2 * x; });
  const auto pipeline = start(std::move(graph));
  std::thread pusher([&] {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(push(*pipeline, static_cast<float>(i)), uint64_t(i));
    pipeline->finish();
  });
  for (int i = 0; i < 100; ++i) {
    const PoppedFrame frame = pipeline->pop();
    ASSERT_EQ(frame.state, PopState::frame);
    EXPECT_EQ(frame.id, uint64_t(i));
    EXPECT_EQ(result(frame), 2 * static_cast<float>(i) + 2);
    EXPECT_LE(frame.pushed_ns, frame.done_ns);
  }
  EXPECT_EQ(pipeline->pop().state, PopState::ended);
  EXPECT_EQ(pipeline->pop().state, PopState::ended);
  pusher.join();
  const auto statistics = pipeline->statistics();
  EXPECT_EQ(statistics[0].frames, 100u);
  EXPECT_EQ(statistics[1].name, "times2");
  EXPECT_LE(statistics[1].most_queued, 2u);
}

TEST(Pipeline, AFullPipelineTakesNoMore) {
  Gate gate;
  PipelineGraph graph;
  add(graph, "slow", [&](uint64_t, float x) {
    gate.wait();
    return x;
  });
  const auto pipeline = start(std::move(graph), {.depth = 3});
  // The stage takes the first frame; only then do three more fit into its queue.
  push(*pipeline, 0);
  while (pipeline->statistics()[0].queued > 0) std::this_thread::sleep_for(1ms);
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(try_push(*pipeline, static_cast<float>(i)));
  EXPECT_FALSE(try_push(*pipeline, 4));
  EXPECT_EQ(pipeline->pop(0).state, PopState::none);
  gate.open();
  for (int i = 0; i <= 3; ++i) EXPECT_EQ(result(pipeline->pop()), static_cast<float>(i));
  EXPECT_TRUE(try_push(*pipeline, 5));
  EXPECT_EQ(result(pipeline->pop()), 5);  // waits, since the stage uses the gate
}

TEST(Pipeline, ReplicasKeepTheOrder) {
  PipelineGraph graph;
  std::atomic<int> inside{0}, most{0};
  add(
      graph, "replicated",
      [&](uint64_t frame, float x) {
        most = std::max(most.load(), ++inside);
        std::this_thread::sleep_for(frame % 3 == 0 ? 3ms : 1ms);
        --inside;
        return x + 1;
      },
      3);
  add(graph, "after", [next = 0ull](uint64_t frame, float x) mutable -> Result<float> {
    if (frame != next++) return fail("out of order");
    return x;
  });
  const auto pipeline = start(std::move(graph));
  std::thread pusher([&] {
    for (int i = 0; i < 60; ++i) push(*pipeline, static_cast<float>(i));
  });
  for (int i = 0; i < 60; ++i) {
    const PoppedFrame frame = pipeline->pop();
    ASSERT_TRUE(frame.status) << frame.status.error().message;
    EXPECT_EQ(result(frame), static_cast<float>(i) + 1);
  }
  pusher.join();
  EXPECT_GT(most, 1);
}

TEST(Pipeline, AFastReplicaGoesOnWhileASlowOneWorks) {
  Gate gate;
  std::atomic<int> made = 0;
  PipelineGraph graph;
  add(
      graph, "replicated",
      [&](uint64_t frame, float x) {
        if (frame == 0) gate.wait();
        ++made;
        return x;
      },
      2);
  const auto pipeline = start(std::move(graph), {.depth = 3});
  std::thread pusher([&] {
    for (int i = 0; i < 10; ++i) push(*pipeline, static_cast<float>(i));
  });
  // Frames 1 to 3 are kept, and 4 waits.
  for (int i = 0; i < 2000 && made < 4; ++i) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(made, 4);
  EXPECT_EQ(pipeline->pop(0).state, PopState::none);
  gate.open();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(result(pipeline->pop()), static_cast<float>(i));
  pusher.join();
}

TEST(Pipeline, AnErrorIsItsFramesAlone) {
  PipelineGraph graph;
  add(graph, "picky", [](uint64_t, float x) -> Result<float> {
    if (x == 1) return fail(ErrorKind::unsupported, "no ones");
    if (x == 2) throw std::runtime_error("a bug");
    return x;
  });
  add(graph, "after", [](uint64_t, float x) { return x; });
  const auto pipeline = start(std::move(graph), {.depth = 4});
  for (int i = 0; i < 4; ++i) push(*pipeline, static_cast<float>(i));
  EXPECT_EQ(result(pipeline->pop()), 0);
  const PoppedFrame refused = pipeline->pop();
  EXPECT_EQ(refused.id, 1u);
  ASSERT_FALSE(refused.status);
  EXPECT_EQ(refused.status.error().message, "frame 1: stage 'picky': no ones");
  EXPECT_EQ(refused.status.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(pipeline->pop().status.error().message, "frame 2: stage 'picky': internal error: a bug");
  EXPECT_EQ(result(pipeline->pop()), 3);
  EXPECT_EQ(pipeline->statistics()[0].errors, 2u);
  EXPECT_EQ(pipeline->statistics()[1].frames, 2u);
}

TEST(Pipeline, ALateFrameIsToldAndTheNextGoesOn) {
  Gate gate;
  PipelineGraph graph;
  add(graph, "hangs", [&](uint64_t frame, float x) {
    if (frame == 0) gate.wait();
    return x;
  });
  const auto pipeline = start(std::move(graph), {.depth = 2, .timeout_ns = 50'000'000});
  push(*pipeline, 1);
  const PoppedFrame late = pipeline->pop();
  EXPECT_EQ(late.id, 0u);
  ASSERT_FALSE(late.status);
  EXPECT_EQ(late.status.error().kind, ErrorKind::timed_out);
  EXPECT_EQ(late.status.error().message, "frame 0: it was not done after 50.000 ms");
  gate.open();
  push(*pipeline, 2);
  const PoppedFrame next = pipeline->pop();
  EXPECT_EQ(next.id, 1u);
  EXPECT_TRUE(next.status);
  EXPECT_EQ(result(next), 2);
}

TEST(Pipeline, CancelReturnsAtOnceAndSoDoesItsEnd) {
  auto gate = std::make_shared<Gate>();
  auto returned = std::make_shared<std::promise<void>>();
  PipelineGraph graph;
  add(graph, "hangs", [gate, returned](uint64_t, float x) {
    gate->wait();
    returned->set_value();
    return x;
  });
  auto pipeline = start(std::move(graph));
  push(*pipeline, 1);
  while (pipeline->statistics()[0].queued > 0) std::this_thread::sleep_for(1ms);
  pipeline->cancel();
  EXPECT_EQ(pipeline->pop().state, PopState::ended);
  float x = 2;
  const std::vector<NamedTensor> inputs{input(x)};
  EXPECT_EQ(pipeline->push(inputs).error().kind, ErrorKind::cancelled);
  pipeline.reset();  // the stage still runs
  gate->open();
  returned->get_future().wait();
}

TEST(Pipeline, FramesInFlightAreFreedWithIt) {
  PipelineGraph graph;
  add(graph, "a", [](uint64_t, float x) { return x; });
  add(graph, "b", [](uint64_t, float x) { return x; });
  const auto pipeline = start(std::move(graph));
  for (int i = 0; i < 4; ++i) push(*pipeline, 1);
}

TEST(Pipeline, PushAfterFinishAndBadInputsAreErrors) {
  PipelineGraph graph;
  add(graph, "a", [](uint64_t, float x) { return x; });
  const auto pipeline = start(std::move(graph));
  float x = 1;
  const std::vector<NamedTensor> none, wrong{{"z", input(x).tensor, nullptr}}, twice{input(x), input(x)},
      good{input(x)};
  EXPECT_EQ(pipeline->push(none).error().message, "input 'x' of the pipeline is missing");
  EXPECT_EQ(pipeline->push(wrong).error().message, "the pipeline has no input 'z'");
  EXPECT_EQ(pipeline->push(twice).error().message, "input 'x' of the pipeline is given twice");
  pipeline->finish();
  EXPECT_EQ(pipeline->push(good).error().message,
            "the pipeline was told that no more frames come (finish): it takes none");
  EXPECT_EQ(pipeline->pop().state, PopState::ended);
  PipelineGraph other;
  add(other, "a", [](uint64_t, float y) { return y; });
  other.connect_by_name();
  EXPECT_EQ(Pipeline::start(other, {.depth = 0}).error().message,
            "a queue of depth 0 holds no frame; want at least 1");
  EXPECT_EQ(other.stages.size(), 1u);
}

/// Stage that records the addresses of its input and its output.
class AddressStage final : public Stage {
 public:
  AddressStage(std::vector<const void*>& read, std::vector<const void*>& written)
      : read_(read), written_(written) {}
  std::span<const StagePort> inputs() const override { return inputs_; }
  std::span<const StagePort> outputs() const override { return outputs_; }
  Status run(uint64_t, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
    read_.push_back(inputs[0].tensor.data);
    written_.push_back(outputs[0].tensor.data);
    return {};
  }

 private:
  std::vector<const void*>&read_, &written_;
  std::vector<StagePort> inputs_{{"x", DType::f32, Shape{1024}}}, outputs_{{"x", DType::f32, Shape{1024}}};
};

TEST(Pipeline, NothingIsCopiedOnTheWayAndBuffersAreUsedAgain) {
  std::vector<const void*> read[2], written[2], popped;
  PipelineGraph graph;
  for (int i = 0; i < 2; ++i) {
    auto& named = graph.stages.emplace_back(PipelineGraph::NamedStage{i == 0 ? "a" : "b", {}});
    named.replicas.push_back(std::make_unique<AddressStage>(read[i], written[i]));
  }
  const auto pipeline = start(std::move(graph));
  std::vector<float> memory(1024);
  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> is_alive = owner;
  std::vector<NamedTensor> inputs{{"x", TensorView{memory.data(), DType::f32, Shape{1024}}, owner}};
  owner.reset();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(pipeline->push(inputs));
    popped.push_back(pipeline->pop().outputs[0].tensor.data);
  }
  for (const void* address : read[0]) EXPECT_EQ(address, memory.data());
  EXPECT_EQ(written[0], read[1]);
  EXPECT_EQ(written[1], popped);
  EXPECT_LE(std::set<const void*>(written[0].begin(), written[0].end()).size(), 3u);
  inputs.clear();
  EXPECT_TRUE(is_alive.expired());  // frames keep nothing that they do not need
}

TEST(Pipeline, AValueSkipsStagesAndBranchesJoin) {
  // Graph: x -> a -> {b, c}; sum reads a, b and c; the pipeline returns sum and a's output.
  class Sum final : public Stage {
   public:
    std::span<const StagePort> inputs() const override { return inputs_; }
    std::span<const StagePort> outputs() const override { return outputs_; }
    Status run(uint64_t, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
      float sum = 0;
      for (const NamedTensor& one : inputs) sum += *static_cast<const float*>(one.tensor.data);
      *static_cast<float*>(outputs[0].tensor.data) = sum;
      return {};
    }

   private:
    std::vector<StagePort> inputs_{
        {"a", DType::f32, Shape{1}}, {"b", DType::f32, Shape{1}}, {"c", DType::f32, Shape{1}}};
    std::vector<StagePort> outputs_{{"sum", DType::f32, Shape{1}}};
  };
  PipelineGraph graph;
  add(graph, "a", [](uint64_t, float x) { return x + 1; });
  add(graph, "b", [](uint64_t, float x) { return 10 * x; });
  add(graph, "c", [](uint64_t frame, float x) {
    if (frame % 4 == 0) std::this_thread::sleep_for(1ms);
    return 100 * x;
  });
  graph.stages.push_back({"sum", {}});
  graph.stages.back().replicas.push_back(std::make_unique<Sum>());
  graph.connections = {{{"", "x"}, {"a", "x"}},     {{"a", "x"}, {"b", "x"}},   {{"a", "x"}, {"c", "x"}},
                       {{"a", "x"}, {"sum", "a"}},  {{"b", "x"}, {"sum", "b"}}, {{"c", "x"}, {"sum", "c"}},
                       {{"sum", "sum"}, {"", "y"}}, {{"a", "x"}, {"", "first"}}};
  const auto pipeline = start(std::move(graph));
  std::thread pusher([&] {
    for (int i = 0; i < 200; ++i) push(*pipeline, static_cast<float>(i));
  });
  for (int i = 0; i < 200; ++i) {
    const PoppedFrame frame = pipeline->pop();
    EXPECT_EQ(result(frame), 111 * static_cast<float>(i + 1));
    EXPECT_EQ(*static_cast<float*>(frame.outputs[1].tensor.data), static_cast<float>(i + 1));
  }
  pusher.join();
}

TEST(Pipeline, RandomDelaysAndErrorsLoseNothing) {
  constexpr uint64_t seed = 20261123;
  const uint64_t frames = 20'000ull * rounds();
  SCOPED_TRACE(seed);
  const auto shaky = [](int which) {
    return [which](uint64_t frame, float x) -> Result<float> {
      std::minstd_rand random(static_cast<uint32_t>(frame * 4 + uint64_t(which) + seed));
      random.discard(3);
      if (random() % 200 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      if (random() % 300 == 0) return fail("by chance");
      return x + 1;
    };
  };
  PipelineGraph graph;
  add(graph, "a", shaky(0));
  add(graph, "b", shaky(1), 3);
  add(graph, "c", shaky(2));
  const auto pipeline = start(std::move(graph));
  std::thread pusher([&] {
    for (uint64_t i = 0; i < frames; ++i) push(*pipeline, static_cast<float>(i % 1000));
    pipeline->finish();
  });
  uint64_t next = 0, errors = 0;
  size_t early_bytes = 0, late_bytes = 0;  // peak bytes in use, in each half
  while (true) {
    const PoppedFrame frame = pipeline->pop();
    if (frame.state == PopState::ended) break;
    size_t& most = next < frames / 2 ? early_bytes : late_bytes;
    if (next % 100 == 0) most = std::max(most, mallinfo2().uordblks);
    ASSERT_EQ(frame.id, next++);
    if (!frame.status)
      ++errors;
    else
      ASSERT_EQ(result(frame), static_cast<float>(frame.id % 1000) + 3);
  }
  pusher.join();
  EXPECT_EQ(next, frames);
  EXPECT_GT(errors, frames / 300);
  EXPECT_LT(errors, frames / 30);
  EXPECT_LT(late_bytes, early_bytes + 64 * 1024);
  // Numbers for long runs, with --gtest_output=json.
  RecordProperty("frames", std::to_string(next));
  RecordProperty("errors", std::to_string(errors));
  RecordProperty("most_bytes_of_each_half", fmt::format("{} {}", early_bytes, late_bytes));
}

TEST(BufferPool, KeepsWhatFitsAndNoMore) {
  BufferPool pool;
  std::shared_ptr<void> small = pool.take(64);
  void* const address = small.get();
  small.reset();
  EXPECT_EQ(pool.take(10).get(), address);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pool.take(1000).get()) % 64, 0u);
}

TEST(BufferPool, CopiesOfTensorsShareNothing) {
  BufferPool pool;
  std::vector<float> numbers{1, 2};
  const FrameValue copy = pool.copy(TensorView{numbers.data(), DType::f32, {2}}).value();
  numbers[0] = 5;
  EXPECT_EQ(copy.tensor.as<float>()[0], 1);
  EXPECT_EQ(pool.copy(TensorView{nullptr, DType::f32, {0, 3}}).value().tensor.shape, (Shape{0, 3}));
  std::vector<std::string> words{"a"};
  const FrameValue same = pool.copy(TensorView{words.data(), DType::string, {1}}).value();
  words[0] = "b";
  EXPECT_EQ(same.tensor.as<std::string>()[0], "a");
}

}  // namespace
}  // namespace intarsia
