// Stages that give any number of items of a frame, stages that run for each, and stages that join them.
//
// Covers: src/pipeline/ frame_items.cc pipeline_graph.cc pipeline_workers.cc
#include "pipeline/frame_items.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <numeric>
#include <random>
#include <thread>

#include "pipeline/pipeline.h"
#include "tests/support/pipeline_routes.h"
#include "tests/support/rounds.h"

namespace intarsia {
namespace {

using namespace std::chrono_literals;

using Numbers = std::vector<int64_t>;

/// Stage on i64 tensors of any size, as lists of numbers; outputs have one row per number.
class NumberStage final : public Stage {
 public:
  using Function = std::function<Result<std::vector<Numbers>>(uint64_t frame, std::vector<Numbers> inputs)>;
  NumberStage(std::vector<std::string> inputs, std::vector<std::string> outputs, Function function)
      : function_(std::move(function)) {
    for (const std::string& name : inputs) inputs_.push_back({name, DType::undefined, std::nullopt});
    for (const std::string& name : outputs) outputs_.push_back({name, DType::undefined, std::nullopt});
  }
  std::span<const StagePort> inputs() const override { return inputs_; }
  std::span<const StagePort> outputs() const override { return outputs_; }
  Status run(uint64_t frame, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
    std::vector<Numbers> given;
    for (const NamedTensor& input : inputs) {
      const auto numbers =
          input.tensor.dtype == DType::i64 ? input.tensor.as<int64_t>() : std::span<int64_t>();
      given.emplace_back(numbers.begin(), numbers.end());
    }
    const std::vector<Numbers> made = TRY(function_(frame, std::move(given)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor tensor(DType::i64, Shape{static_cast<int64_t>(made[i].size())});
      std::ranges::copy(made[i], tensor.as<int64_t>().begin());
      outputs[i].tensor = tensor.view();
      outputs[i].owner = tensor.owner();
    }
    return {};
  }

 private:
  Function function_;
  std::vector<StagePort> inputs_, outputs_;
};

PipelineGraph::NamedStage stage(const std::string& name, std::vector<std::string> inputs,
                                std::vector<std::string> outputs, const NumberStage::Function& function,
                                StageOptions options = {}, int replicas = 1) {
  PipelineGraph::NamedStage made{.name = name, .replicas = {}, .options = std::move(options)};
  for (int i = 0; i < replicas; ++i)
    made.replicas.push_back(std::make_unique<NumberStage>(inputs, outputs, function));
  return made;
}

template <typename... Stages>
PipelineGraph graph_of(Stages... stages) {
  PipelineGraph graph;
  (graph.stages.push_back(std::move(stages)), ...);
  graph.connect_by_name();
  return graph;
}

template <typename... Stages>
std::unique_ptr<Pipeline> start(Stages... stages) {
  PipelineGraph graph = graph_of(std::move(stages)...);
  return Pipeline::start(graph, {.depth = 4}).value();
}

void push(Pipeline& pipeline, Numbers numbers, const std::string& name = "image") {
  const std::vector<NamedTensor> inputs{
      {name, TensorView{numbers.data(), DType::i64, Shape{static_cast<int64_t>(numbers.size())}}, nullptr}};
  ASSERT_TRUE(pipeline.push(inputs).has_value());
}

Numbers output(const PoppedFrame& frame, size_t i = 0) {
  const auto numbers = frame.outputs.at(i).tensor.as<int64_t>();
  return {numbers.begin(), numbers.end()};
}

/// Returns n boxes, where n is the image's first number: 10 n, 10 n + 1, ...
Result<std::vector<Numbers>> detect(uint64_t, std::vector<Numbers> in) {
  Numbers boxes;
  for (int64_t i = 0; i < in[0][0]; ++i) boxes.push_back(10 * in[0][0] + i);
  return std::vector<Numbers>{boxes};
}

/// Combines the image's first number with one of its boxes.
Result<std::vector<Numbers>> crop(uint64_t, std::vector<Numbers> in) {
  EXPECT_EQ(in[1].size(), 1u);
  return std::vector<Numbers>{{in[0][0] * 1000 + in[1][0]}};
}

TEST(FrameItems, DetectCropClassifyGather) {
  const auto pipeline =
      start(stage("detect", {"image"}, {"box"}, detect, {.scatter = {"box"}}),
            stage("crop", {"image", "box"}, {"patch"}, crop),
            stage(
                "label", {"patch"}, {"class"},
                [](uint64_t, std::vector<Numbers> in) -> Result<std::vector<Numbers>> {
                  std::this_thread::sleep_for(in[0][0] % 3 * 1ms);
                  return std::vector<Numbers>{{-in[0][0]}};
                },
                {}, 3),
            stage("sum", {"class"}, {"total"},
                  [](uint64_t, std::vector<Numbers> in) -> Result<std::vector<Numbers>> {
                    const int64_t total = std::accumulate(in[0].begin(), in[0].end(), int64_t{0});
                    return std::vector<Numbers>{{total, static_cast<int64_t>(in[0].size())}};
                  },
                  {.gathers = true}));
  for (int64_t n : {3, 0, 1, 5}) push(*pipeline, {n});
  pipeline->finish();
  const auto popped = [&] { return output(pipeline->pop()); };
  EXPECT_EQ(popped(), (Numbers{-(3030 + 3031 + 3032), 3}));
  EXPECT_EQ(popped(), (Numbers{0, 0}));
  EXPECT_EQ(popped(), (Numbers{-1010, 1}));
  EXPECT_EQ(popped(), (Numbers{-(5050 + 5051 + 5052 + 5053 + 5054), 5}));
  EXPECT_EQ(pipeline->pop().state, PopState::ended);
  const auto statistics = pipeline->statistics();
  EXPECT_EQ(statistics[2].frames, 4u);
  uint64_t runs = 0;
  for (const uint64_t count : statistics[2].run.counts()) runs += count;
  EXPECT_EQ(runs, 9u);
}

TEST(FrameItems, TheEndGathersInTheOrderOfTheItems) {
  const auto pipeline = start(stage("detect", {"image"}, {"box"}, detect, {.scatter = {"box"}}),
                              stage("crop", {"image", "box"}, {"patch"}, crop, {}, 4));
  push(*pipeline, {4});
  push(*pipeline, {0});
  EXPECT_EQ(output(pipeline->pop()), (Numbers{4040, 4041, 4042, 4043}));
  const PoppedFrame none = pipeline->pop();
  ASSERT_TRUE(none.status) << none.status.error().message;
  EXPECT_EQ(none.outputs[0].tensor.shape, Shape{0});
}

TEST(FrameItems, ReplicasShareTheItemsOfAFrame) {
  std::latch all(3);  // the replicas go on once all three run
  const auto pipeline = start(stage("detect", {"image"}, {"box"}, detect, {.scatter = {"box"}}),
                              stage(
                                  "label", {"box"}, {"class"},
                                  [&](uint64_t, std::vector<Numbers> in) -> Result<std::vector<Numbers>> {
                                    all.arrive_and_wait();
                                    return std::vector<Numbers>{in[0]};
                                  },
                                  {}, 3));
  push(*pipeline, {3});
  EXPECT_EQ(output(pipeline->pop()), (Numbers{30, 31, 32}));
}

TEST(FrameItems, AnErrorOfAnItemIsTheFrames) {
  std::atomic<int> runs{0};
  const auto pipeline = start(stage("detect", {"image"}, {"box"}, detect, {.scatter = {"box"}}),
                              stage("label", {"box"}, {"class"},
                                    [&](uint64_t, std::vector<Numbers> in) -> Result<std::vector<Numbers>> {
                                      ++runs;
                                      if (in[0][0] == 31) return fail("no such thing");
                                      return std::vector<Numbers>{in[0]};
                                    }));
  push(*pipeline, {3});
  push(*pipeline, {2});
  EXPECT_EQ(pipeline->pop().status.error().message, "frame 0: stage 'label': no such thing");
  EXPECT_EQ(output(pipeline->pop()), (Numbers{20, 21}));
  EXPECT_EQ(runs, 4);  // the remaining items of a failed frame are left out
  EXPECT_EQ(pipeline->statistics()[1].errors, 1u);
}

/// Checks that a frame whose items are being worked on has no place in the queue, and is not dropped.
TEST(FrameItems, AFrameInWorkIsNotDropped) {
  std::promise<void> entered, released;
  const auto pipeline =
      start(stage("detect", {"image"}, {"box"}, detect, {.scatter = {"box"}}),
            stage("label", {"box"}, {"class"},
                  [&](uint64_t frame, std::vector<Numbers> in) -> Result<std::vector<Numbers>> {
                    if (frame == 0 && in[0][0] == 30) {
                      entered.set_value();
                      released.get_future().wait();
                    }
                    return std::vector<Numbers>{in[0]};
                  },
                  {.queue = QueuePolicy::latest}));
  push(*pipeline, {3});
  entered.get_future().wait();
  for (int i = 0; i < 3; ++i) push(*pipeline, {1});
  while (pipeline->statistics()[0].frames < 4) std::this_thread::sleep_for(1ms);
  while (pipeline->statistics()[1].dropped < 2) std::this_thread::sleep_for(1ms);
  released.set_value();
  EXPECT_EQ(output(pipeline->pop()), (Numbers{30, 31, 32}));
  EXPECT_EQ(pipeline->pop().status.error().kind, ErrorKind::dropped);
  EXPECT_EQ(pipeline->pop().status.error().kind, ErrorKind::dropped);
  EXPECT_EQ(output(pipeline->pop()), (Numbers{10}));
}

TEST(FrameItems, WhatCannotBeScatteredOrGatheredIsTheFramesError) {
  const auto pair = [](uint64_t, std::vector<Numbers> in) -> Result<std::vector<Numbers>> {
    return std::vector<Numbers>{{1, 2, 3}, in[0]};
  };
  const auto pipeline =
      start(stage("detect", {"image"}, {"box", "score"}, pair, {.scatter = {"box", "score"}}),
            stage("use", {"box", "score"}, {"y"}, crop));
  push(*pipeline, {1, 2});
  push(*pipeline, {1, 2, 3});
  push(*pipeline, Numbers(70'000));
  EXPECT_EQ(pipeline->pop().status.error().message,
            "frame 0: stage 'detect': output 'score': it has 2 rows, but the first that is scattered has 3: "
            "want one "
            "for each item");
  EXPECT_EQ(output(pipeline->pop()), (Numbers{1001, 2002, 3003}));
  EXPECT_EQ(
      pipeline->pop().status.error().message,
      "frame 2: stage 'detect': output 'score': it has 70000 rows to scatter, at most 65536 are possible");
}

TEST(FrameItems, WhatCannotMeetIsSaidAtTheStart) {
  const auto scattering = [](const std::string& name) {
    return stage(name, {"image"}, {name + "s"}, detect, {.scatter = {name + "s"}});
  };
  EXPECT_EQ(error_of(graph_of(scattering("face"), scattering("car"),
                              stage("both", {"faces", "cars"}, {"y"}, crop))),
            "stage 'both': it reads items of stage 'face' and of stage 'car', which need not be as many; "
            "gather one of "
            "them before");
  EXPECT_EQ(error_of(graph_of(scattering("face"), scattering("car"),
                              stage("both", {"faces", "cars"}, {"y"}, crop, {.gathers = true}))),
            "none");
  EXPECT_EQ(
      error_of(
          graph_of(scattering("face"), stage("eye", {"faces"}, {"eyes"}, detect, {.scatter = {"eyes"}}))),
      "stage 'eye' runs for each item of stage 'face': its outputs cannot be scattered again; gather before");
  EXPECT_EQ(error_of(graph_of(stage("a", {"image"}, {"y"}, detect, {.gathers = true}))),
            "stage 'a': it gathers, but no input of it is an item of a frame");
  EXPECT_EQ(error_of(graph_of(stage("a", {"image"}, {"y"}, detect, {.scatter = {"z"}}))),
            "stage 'a' has no output 'z'; it has 'y'");
}

/// Stage whose ports have types.
class TypedStage final : public Stage {
 public:
  TypedStage(StagePort in, StagePort out) : in_{std::move(in)}, out_{std::move(out)} {}
  std::span<const StagePort> inputs() const override { return in_; }
  std::span<const StagePort> outputs() const override { return out_; }
  Status run(uint64_t, std::span<const NamedTensor>, std::span<NamedTensor>) override { return {}; }

 private:
  std::vector<StagePort> in_, out_;
};

PipelineGraph::NamedStage typed(const std::string& name, StagePort in, StagePort out,
                                StageOptions options = {}) {
  PipelineGraph::NamedStage made{.name = name, .replicas = {}, .options = std::move(options)};
  made.replicas.push_back(std::make_unique<TypedStage>(std::move(in), std::move(out)));
  return made;
}

TEST(FrameItems, AnItemHasOneRow) {
  const StagePort image{"image", DType::f32, Shape{1, 8}}, boxes{"box", DType::f32, Shape{5, 4}},
      box{"box", DType::f32, Shape{1, 4}}, logits{"class", DType::f32, Shape{1, 10}};
  const StageOptions scatter{.scatter = {"box"}};
  const PipelineGraph graph = graph_of(typed("detect", image, boxes, scatter), typed("label", box, logits));
  const auto routes = find_routes(graph);
  ASSERT_TRUE(routes) << routes.error().message;
  EXPECT_EQ(routes->outputs[0].port.shape, (Shape{-1, 10}));
  EXPECT_EQ(error_of(graph_of(typed("detect", image, boxes, scatter), typed("label", boxes, logits))),
            "connection 'detect.box' -> 'label.box': it gives f32 1x4, but wants f32 5x4");
  EXPECT_EQ(error_of(graph_of(typed("detect", image, boxes, scatter),
                              typed("all", boxes, logits, {.gathers = true}))),
            "none");
  EXPECT_EQ(error_of(graph_of(typed("detect", image, {"box", DType::f32, Shape{}}, scatter))),
            "output 'box' of stage 'detect' is a scalar: it has no rows to scatter");
}

TEST(FrameItems, RowsAreTakenApartWithoutACopyAndJoined) {
  const Tensor numbers(DType::i32, Shape{3, 2});
  std::ranges::copy(std::vector<int32_t>{1, 2, 3, 4, 5, 6}, numbers.as<int32_t>().begin());
  const auto rows = scatter({numbers.view(), numbers.owner()});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[1].tensor.data, numbers.as<int32_t>().data() + 2);
  EXPECT_EQ((*rows)[1].tensor.shape, (Shape{1, 2}));
  BufferPool pool;
  const auto joined = gather(*rows, {}, pool);
  ASSERT_TRUE(joined);
  EXPECT_TRUE(same_tensor(joined->tensor, numbers.view()));
  const auto none = gather({}, {"box", DType::string, Shape{1, 7}}, pool);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->tensor.dtype, DType::string);
  EXPECT_EQ(none->tensor.shape, (Shape{0, 7}));
  const Tensor texts(DType::string, Shape{2});
  texts.as<std::string>()[0] = "a text that is long enough to have memory of its own";
  const auto text_rows = scatter({texts.view(), texts.owner()});
  EXPECT_TRUE(same_tensor(gather(*text_rows, {}, pool)->tensor, texts.view()));
  const Tensor wide(DType::i32, Shape{1, 3});
  const std::vector<FrameValue> unlike{(*rows)[0], {wide.view(), wide.owner()}};
  EXPECT_EQ(gather(unlike, {}, pool).error().message,
            "item 1 is i32 1x3, item 0 i32 1x2: they cannot be joined along axis 0");
}

/// Checks that chains of stages that scatter, work on items, drop, fail and gather, with replicas, give in
/// order what the stages give when called one after the other.
TEST(FrameItems, RandomChainsGiveWhatTheirStagesGiveInTurn) {
  for (uint32_t seed = 0; seed < 30 * rounds(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    const auto up_to = [&](uint32_t most) { return static_cast<int>(random() % most); };
    const int64_t modulus = 2 + up_to(6);
    const uint64_t fails_each = 3 + random() % 20, drops_each = 3 + random() % 20;
    const auto spread = [=](uint64_t frame, std::vector<Numbers> in) -> Result<std::vector<Numbers>> {
      if (frame % drops_each == 1) return fail(ErrorKind::dropped, "on purpose");
      Numbers rows;
      for (int64_t i = 0; i < in[0][0] % modulus; ++i) rows.push_back(in[0][0] + i);
      return std::vector<Numbers>{rows};
    };
    const auto twice = [=](uint64_t frame, std::vector<Numbers> in) -> Result<std::vector<Numbers>> {
      if (in[0][0] % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(in[0][0] % 7 * 20));
      if (frame % fails_each == 2 && in[0][0] % modulus == 1) return fail("on purpose");
      return std::vector<Numbers>{{2 * in[0][0]}};
    };
    const auto join = [](uint64_t, std::vector<Numbers> in) -> Result<std::vector<Numbers>> {
      Numbers all = in[0];
      all.push_back(in[1][0]);
      return std::vector<Numbers>{all};
    };
    PipelineGraph graph =
        graph_of(stage("spread", {"image"}, {"a"}, spread, {.scatter = {"a"}}, 1 + up_to(3)),
                 stage("twice", {"a"}, {"b"}, twice, {}, 1 + up_to(3)),
                 stage("again", {"b"}, {"c"}, twice, {}, 1 + up_to(3)),
                 stage("join", {"c", "image"}, {"d"}, join, {.gathers = true}, 1 + up_to(2)));
    const auto pipeline = Pipeline::start(graph, {.depth = size_t(1 + up_to(3))}).value();
    std::thread pusher([&] {
      for (int64_t x = 0; x < 200; ++x) push(*pipeline, {x});
      pipeline->finish();
    });
    for (int64_t x = 0; x < 200; ++x) {
      const PoppedFrame frame = pipeline->pop();
      EXPECT_EQ(frame.id, uint64_t(x));
      const auto expected = [&]() -> Result<Numbers> {
        Numbers all;
        const std::vector<Numbers> rows = TRY(spread(frame.id, {{x}}));
        for (const int64_t row : rows[0]) {
          const std::vector<Numbers> once = TRY(twice(frame.id, {{row}})), again = TRY(twice(frame.id, once));
          all.push_back(again[0][0]);
        }
        all.push_back(x);
        return all;
      }();
      EXPECT_EQ(frame.status.has_value(), expected.has_value()) << x;
      if (frame.status && expected) {
        EXPECT_EQ(output(frame), *expected);
      } else if (!frame.status && !expected) {
        EXPECT_EQ(frame.status.error().kind, expected.error().kind);
      }
    }
    pusher.join();
  }
}

}  // namespace
}  // namespace intarsia
