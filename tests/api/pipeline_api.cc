// Pipelines through the C API and its C++ wrapper, over the toy backend.
//
// Covers: src/api/ callable_stage.cc pipeline_api.cc pipeline_builder.cc pipeline_file.cc
// read_bind_options.cc src/pipeline/ session_stage.cc
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "api/run_backends.h"
#include "tests/support/runtime_support.h"

// Comes last: programs include this or the library's internals, never both; names such as Session are in
// both.
#include <intarsia/intarsia_pipeline.hpp>

namespace intarsia::test {
namespace {

namespace api = ::intarsia::v1;
#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

template <typename Body>
std::string thrown_by(Body body) {
  try {
    body();
  } catch (const api::Error& error) {
    return error.what();
  }
  return "none";
}

api::View view(Floats& numbers) { return {numbers.data(), {static_cast<int64_t>(numbers.size())}}; }

Floats floats(const api::Value& value) { return {value.data<float>(), value.data<float>() + value.size()}; }
Floats floats(const intarsia_tensor& tensor) {
  const auto* numbers = static_cast<const float*>(tensor.data);
  return {numbers, numbers + tensor.shape[0]};
}

class PipelineApi : public testing::Test {
 protected:
  api::Program program(const ProgramMaker& maker = small_program()) {
    const std::string path = folder_ / "p.so";
    if (const Status status = maker.write(path); !status) throw std::runtime_error(status.error().message);
    return api::Program::load(path);
  }
  std::string file(const std::string& text) {
    std::ofstream(folder_ / "pipeline.json") << text;
    return folder_ / "pipeline.json";
  }
  TestFolder folder_;
};

/// Makes a pipeline of a stage "double", which doubles its input, and of the net, which returns y = 2x + 1.
api::PipelineBuilder double_then_net(const api::Program& net) {
  api::PipelineBuilder builder;
  builder.add("double", {"image"}, {"x"}, [](api::StageCall& call) {
    const Floats in = floats(call.input(0));
    auto* out = call.allocate<float>(0, {static_cast<int64_t>(in.size())});
    for (size_t i = 0; i < in.size(); ++i) out[i] = 2 * in[i];
  });
  builder.add("net", net);
  builder.connect_by_name();
  return builder;
}

TEST_F(PipelineApi, FunctionsAndProgramsMix) {
  const api::Program net = program();
  api::Pipeline pipeline = double_then_net(net).start(3);
  EXPECT_EQ(pipeline.inputs().at(0).name, "image");
  EXPECT_FALSE(pipeline.inputs()[0].rank_known);
  EXPECT_EQ(pipeline.outputs().at(0).name, "y");
  EXPECT_EQ(pipeline.outputs()[0].shape, (std::vector<int64_t>{4}));
  std::thread pusher([&] {
    for (int i = 0; i < 50; ++i) {
      Floats image(4, static_cast<float>(i));
      pipeline.push({{"image", view(image)}});
      image.assign(4, -1);  // the pipeline has its own copy
    }
    pipeline.finish();
  });
  uint64_t next = 0;
  while (const auto frame = pipeline.pop({"y"})) {
    EXPECT_EQ(frame->number, next);
    EXPECT_EQ(floats(frame->outputs.at(0)), Floats(4, 4 * static_cast<float>(next) + 1));
    EXPECT_GT(frame->latency.count(), 0);
    ++next;
  }
  EXPECT_EQ(next, 50u);
  pusher.join();
  EXPECT_EQ(pipeline.statistics().at(1).frames, 50u);
}

TEST_F(PipelineApi, ATraceTellsWhatSessionsDoWhereItIsAsked) {
  const api::Program net = program();
  for (const bool traces_steps : {false, true}) {
    std::vector<std::string> seen;
    intarsia_pipeline_options options{};
    options.struct_size = sizeof(options);
    options.traces_steps = traces_steps ? 1 : 0;
    options.user = &seen;
    options.trace = [](void* user, const intarsia_frame_event* event) {
      const std::string kind = event->name == nullptr ? "stage" : event->kind;
      static_cast<std::vector<std::string>*>(user)->push_back(event->stage + (" " + kind));
    };
    api::Pipeline pipeline = double_then_net(net).start(options);
    Floats image(4, 1);
    pipeline.push({{"image", view(image)}});
    EXPECT_EQ(floats(pipeline.pop({"y"})->outputs.at(0)), Floats(4, 5));
    pipeline.cancel();  // no event comes after this call
    EXPECT_EQ(seen.front(), "double stage");
    EXPECT_EQ(seen.back(), "net stage");
    EXPECT_EQ(std::ranges::count(seen, "net region") > 0, traces_steps);
    EXPECT_EQ(seen.size() > 2, traces_steps);
  }
}

TEST_F(PipelineApi, ErrorsOfStagesNameFrameAndStage) {
  const api::Program net = program();
  api::Pipeline pipeline = double_then_net(net).start();
  Floats image(3, 1), good(4, 1);
  pipeline.push({{"image", view(image)}});
  pipeline.push({{"image", view(good)}});
  const std::string error = thrown_by([&] { pipeline.pop({"y"}); });
  EXPECT_HAS(error, "frame 0: stage 'net': ");
  EXPECT_HAS(error, "input 'x'");
  EXPECT_EQ(floats(pipeline.pop({"y"})->outputs.at(0)), Floats(4, 5));
  EXPECT_EQ(thrown_by([&] { pipeline.pop({"z"}); }), "the pipeline has no output 'z'");
}

TEST_F(PipelineApi, AFunctionThatThrowsOrForgetsAnOutputFailsItsFrame) {
  api::PipelineBuilder builder;
  builder.add("picky", {"x"}, {"y"}, [](api::StageCall& call) {
    if (call.frame() == 0) throw std::runtime_error("no frame 0");
    if (call.frame() == 1) return;
    if (call.frame() == 2) call.give(1, {});
    call.allocate<float>(0, {-1});
  });
  builder.connect_by_name();
  api::Pipeline pipeline = builder.start(4);
  Floats x(1);
  for (int i = 0; i < 4; ++i) pipeline.push({{"x", view(x)}});
  const auto pop = [&] { return thrown_by([&] { pipeline.pop({"y"}); }); };
  EXPECT_EQ(pop(), "frame 0: stage 'picky': no frame 0");
  EXPECT_EQ(pop(), "frame 1: stage 'picky': it returned without giving output 'y'");
  EXPECT_EQ(pop(), "frame 2: stage 'picky': no output 1; the stage has 1");
  EXPECT_HAS(pop(), "frame 3: stage 'picky': output 'y'");
}

TEST_F(PipelineApi, MemoryOfTheCallerIsUsedInPlaceAndReleased) {
  const void* seen = nullptr;
  api::PipelineBuilder builder;
  builder.add("look", {"x"}, {"y"}, [&](api::StageCall& call) {
    seen = call.input(0).data;
    auto made = std::make_shared<Floats>(4, 7.0f);
    call.give(0, view(*made), made);
  });
  builder.connect_by_name();
  api::Pipeline pipeline = builder.start();
  Floats x(4, 1);
  int released = 0;
  const intarsia_frame_owner owner{[](void* user) { ++*static_cast<int*>(user); }, &released};
  const std::vector<api::NamedView> inputs{{"x", view(x)}};
  intarsia_tensor named = api::detail::tensors(inputs).at(0);
  int32_t pushed = 0;
  ASSERT_EQ(intarsia_pipeline_push(pipeline.get(), -1, &named, 1, &owner, &pushed, nullptr), nullptr);
  EXPECT_EQ(pushed, 1);
  const auto frame = pipeline.pop({"y"});
  EXPECT_EQ(floats(frame->outputs.at(0)), Floats(4, 7));
  EXPECT_EQ(seen, x.data());
  EXPECT_EQ(released, 1);
  named.name = "z";
  intarsia_error_release(intarsia_pipeline_push(pipeline.get(), -1, &named, 1, &owner, &pushed, nullptr));
  EXPECT_EQ(released, 1);  // after a failure the memory stays the caller's
}

TEST_F(PipelineApi, StringsPass) {
  api::PipelineBuilder builder;
  builder.add("say", {"text"}, {"text"}, [](api::StageCall& call) {
    const auto* in = static_cast<const intarsia_string*>(call.input(0).data);
    const std::string twice = std::string(in->data, in->size) + std::string(in->data, in->size);
    const intarsia_string out{twice.data(), twice.size()};
    call.give(0, api::View(&out, {1}));
  });
  builder.add("again", {"text"}, {"text"}, [](api::StageCall& call) {
    call.give(0, api::View(static_cast<const intarsia_string*>(call.input(0).data), {1}));
  });
  builder.connect_by_name();
  api::Pipeline pipeline = builder.start();
  const intarsia_string text{"ab", 2};
  pipeline.push({{"text", api::View(&text, {1})}});
  EXPECT_EQ(pipeline.pop({"text"})->outputs.at(0).string(0), "abab");
}

TEST_F(PipelineApi, ReplicasOfAProgram) {
  const api::Program net = program();
  api::PipelineBuilder builder;
  builder.add("net", net);
  builder.add_replica("net");
  EXPECT_EQ(thrown_by([&] { builder.add_replica("none"); }), "there is no stage 'none' to replicate");
  EXPECT_EQ(thrown_by([&] { builder.add("net", net); }), "there is a stage 'net' already");
  builder.connect_by_name();
  api::Pipeline pipeline = builder.start();
  EXPECT_EQ(pipeline.statistics().at(0).replicas, 2u);
  for (int i = 0; i < 20; ++i) {
    Floats x(4, static_cast<float>(i)), y(4);
    pipeline.push({{"x", view(x)}});
    ASSERT_TRUE(pipeline.pop_into({{"y", view(y)}}));
    EXPECT_EQ(y, Floats(4, 2 * static_cast<float>(i) + 1));
  }
  Floats x(4), y(5);
  pipeline.push({{"x", view(x)}});
  EXPECT_EQ(thrown_by([&] { pipeline.pop_into({{"y", view(y)}}); }),
            "frame 20: output 'y' is f32 4, but its buffer is for f32 5");
}

TEST_F(PipelineApi, AReplicaMayBeOfAnotherProgram) {
  const api::Program net = program();
  ProgramMaker maker = small_program();
  maker.divide();
  const std::string path = folder_ / "other.so";
  ASSERT_TRUE(maker.write(path));
  api::PipelineBuilder builder;
  builder.add("net", net);
  builder.add_replica("net", api::Program::load(path));
  EXPECT_EQ(thrown_by([&] { builder.add_replica("none", net); }), "there is no stage 'none' to replicate");
  builder.read(file(R"({"intarsia_pipeline": 1, "stages": [
    {"name": "last", "program": "p.so", "replicas": [{"program": "other.so"}]}],
    "connections": [["net.y", "last.x"]]})"));
  api::Pipeline pipeline = builder.start();
  EXPECT_EQ(pipeline.statistics().at(0).replicas, 2u);
  EXPECT_EQ(pipeline.statistics().at(1).replicas, 2u);
  for (int i = 0; i < 20; ++i) {
    Floats x(4, static_cast<float>(i)), y(4);
    pipeline.push({{"x", view(x)}});
    ASSERT_TRUE(pipeline.pop_into({{"y", view(y)}}));
    EXPECT_EQ(y, Floats(4, 4 * static_cast<float>(i) + 3));
  }
}

TEST_F(PipelineApi, TheStagesOfAProgram) {
  ProgramMaker maker = small_program();
  maker.divide();
  const api::Program net = program(maker);
  api::PipelineBuilder builder;
  builder.add_stages(net);
  builder.add_replica("stage0");
  builder.connect_by_name();
  api::Pipeline pipeline = builder.start();
  ASSERT_EQ(pipeline.statistics().size(), 2u);
  EXPECT_EQ(pipeline.statistics()[0].replicas, 2u);
  Floats x = {1, 2, 3, 4}, y(4);
  pipeline.push({{"x", view(x)}});
  ASSERT_TRUE(pipeline.pop_into({{"y", view(y)}}));
  EXPECT_EQ(y, (Floats{3, 5, 7, 9}));
  EXPECT_HAS(thrown_by([&] { builder.add_stages(net, "other"); }),
             "no function 'other'; the program has: main");
}

TEST_F(PipelineApi, AFailedStartLeavesTheBuilder) {
  const api::Program net = program();
  api::PipelineBuilder builder;
  builder.add("net", net);
  EXPECT_HAS(thrown_by([&] { builder.start(); }), "input 'x' of stage 'net' is not connected");
  builder.connect_by_name();
  api::Pipeline pipeline = builder.start();
  EXPECT_EQ(thrown_by([&] { builder.start(); }), "the pipeline has no stage; add one before it starts");
}

TEST_F(PipelineApi, FilesSayTheSame) {
  program();
  api::PipelineBuilder builder;
  builder.read(file(R"({"intarsia_pipeline": 1, "depth": 1, "timeout_ms": 1000,
    "stages": [{"name": "first", "program": "p.so", "threads": 1},
               {"name": "second", "program": "p.so", "replicas": [{"threads": 1}]}],
    "connections": [["first.y", "second.x"]], "inputs": {"in": ["first.x"]}, "outputs": {"out": "second.y"}})"));
  api::Pipeline pipeline = builder.start();
  Floats in(4, 1), out(4);
  pipeline.push({{"in", view(in)}});
  ASSERT_TRUE(pipeline.pop_into({{"out", view(out)}}));
  EXPECT_EQ(out, Floats(4, 7));
  EXPECT_EQ(pipeline.statistics().at(1).replicas, 2u);
}

TEST_F(PipelineApi, DamagedFilesAreNamed) {
  program();
  const auto error_of = [&](const std::string& text) {
    return thrown_by([&] {
      api::PipelineBuilder builder;
      builder.read(file(text));
    });
  };
  const std::string begin = R"({"intarsia_pipeline": 1, "stages": [{"name": "a", "program": "p.so")";
  EXPECT_HAS(error_of("{"), "pipeline.json': it is not JSON");
  EXPECT_HAS(error_of("[]"), "the file: want an object");
  EXPECT_HAS(error_of("{}"), "\"intarsia_pipeline\": got null, want 1");
  EXPECT_HAS(error_of(R"({"intarsia_pipeline": 1})"), "want a list \"stages\" of one or more");
  EXPECT_HAS(error_of(R"({"intarsia_pipeline": 1, "depth": 0, "stages": [1]})"),
             "the file, \"depth\": got 0, want a whole number from 1 to");
  EXPECT_HAS(error_of(R"({"intarsia_pipeline": 1, "timeout_ms": -1, "stages": [1]})"),
             "\"timeout_ms\": got -1");
  EXPECT_HAS(error_of(R"({"intarsia_pipeline": 1, "stages": [1]})"), "stage 0: want an object");
  EXPECT_HAS(error_of(R"({"intarsia_pipeline": 1, "stages": [{"name": "a.b", "program": "p.so"}]})"),
             "want a name without dots");
  EXPECT_HAS(error_of(R"({"intarsia_pipeline": 1, "stages": [{"name": "a", "program": "q.so"}]})"), "q.so'");
  EXPECT_HAS(error_of(begin + R"(, "speed": 1}]})"), "stage 0: unknown key \"speed\"");
  EXPECT_HAS(error_of(begin + R"(, "devices": {"gpu": "cpu"}}]})"), "stage 'a': ");
  EXPECT_HAS(error_of(begin + R"(}], "connections": [["a.y"]]})"),
             "want [\"STAGE.OUTPUT\", \"STAGE.INPUT\"]");
  EXPECT_HAS(error_of(begin + R"(}], "inputs": {"in": "a.x"}})"), "input 'in': want a list");
  EXPECT_HAS(error_of(begin + R"(}], "outputs": {"out": "y"}})"),
             "output 'out': got \"y\", want \"STAGE.PORT\"");
  EXPECT_HAS(thrown_by([&] {
               api::PipelineBuilder builder;
               builder.read("/nowhere.json");
             }),
             "pipeline '/nowhere.json': ");
}

/// Makes a program that computes y = 2x for one row.
ProgramMaker net_of_one_row() {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {1, 4});
  maker.run("add", {x, x}, {maker.output("y", {1, 4})});
  return maker;
}

/// Checks that each box of an image runs through the net, and that all answers come together.
TEST_F(PipelineApi, ItemsOfAFrame) {
  const api::Program net = program(net_of_one_row());
  api::PipelineBuilder builder;
  builder.add("detect", {"image"}, {"x"}, [](api::StageCall& call) {
    const Floats image = floats(call.input(0));
    const auto items = static_cast<int64_t>(image[0]);
    auto* out = call.allocate<float>(0, {items, 4});
    for (int64_t i = 0; i < 4 * items; ++i) out[i] = static_cast<float>(i / 4);
  });
  builder.add("net", net);
  builder.add_replica("net");
  builder.set_options("detect", {.scatter = {"x"}});
  builder.connect_by_name();
  api::Pipeline pipeline = builder.start({.depth = 3});
  EXPECT_EQ(pipeline.outputs().at(0).shape, (std::vector<int64_t>{-1, 4}));
  for (float items : {3.0f, 0.0f}) {
    Floats image{items};
    pipeline.push({{"image", view(image)}});
  }
  const api::PoppedFrame frame = *pipeline.pop({"y"});
  const api::Value& y = frame.outputs.at(0);
  EXPECT_EQ(y.shape(), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(y.data<float>()[8], 4);
  EXPECT_EQ(pipeline.pop({"y"})->outputs.at(0).shape(), (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(thrown_by([&] { builder.set_options("net", {}); }),
            "there is no stage 'net' whose options could be set");
}

TEST_F(PipelineApi, LiveFrames) {
  api::PipelineBuilder builder;
  builder.add("odd", {"x"}, {"x"}, [](api::StageCall& call) {
    if (call.frame() % 2 == 0) throw api::Dropped("it is even");
    call.give(0, api::View(floats(call.input(0)).data(), {4}));
  });
  builder.set_options("odd", {.queue = api::Queue::drop_oldest});
  builder.connect_by_name();
  api::Pipeline pipeline = builder.start({.deadline = std::chrono::hours(1), .queue = api::Queue::block});
  int user = 0;
  for (int i = 0; i < 2; ++i) {
    Floats x(4, 1);
    pipeline.push({{"x", view(x)}}, {.timestamp = 40 + i, .user = &user});
  }
  try {
    pipeline.pop({"x"});
    ADD_FAILURE() << "it was dropped";
  } catch (const api::FrameError& error) {
    EXPECT_STREQ(error.what(), "frame 0: stage 'odd': dropped by the stage: it is even");
    EXPECT_EQ(error.kind(), INTARSIA_ERROR_DROPPED);
    EXPECT_EQ(error.timestamp(), 40);
    EXPECT_EQ(error.user(), &user);
  }
  const api::PoppedFrame frame = *pipeline.pop({"x"});
  EXPECT_EQ(frame.timestamp, 41);
  EXPECT_EQ(frame.user, &user);
  const api::FrameStatistics frames = pipeline.frame_statistics();
  EXPECT_EQ(frames.pushed, 2u);
  EXPECT_EQ(frames.done, 1u);
  EXPECT_EQ(frames.dropped, 1u);
  EXPECT_EQ(pipeline.statistics().at(0).dropped, 1u);
  const auto latency = pipeline.times(INTARSIA_TIMES_LATENCY);
  ASSERT_EQ(latency.size(), 1u);
  EXPECT_EQ(latency[0].count, 1u);
  EXPECT_LE(latency[0].from, frame.latency);
  EXPECT_LT(frame.latency, latency[0].to);
  EXPECT_EQ(pipeline.times(INTARSIA_TIMES_WAIT, 0).empty(), false);
  EXPECT_EQ(thrown_by([&] { pipeline.times(INTARSIA_TIMES_RUN, 1); }), "no stage 1; the pipeline has 1");
}

TEST_F(PipelineApi, NullPointersAreErrors) {
  for (intarsia_error* error :
       {intarsia_pipeline_builder_create(nullptr),
        intarsia_pipeline_add_program(nullptr, "a", nullptr, nullptr, nullptr),
        intarsia_pipeline_add_replica(nullptr, "a", nullptr),
        intarsia_pipeline_add_replica_program(nullptr, "a", nullptr, nullptr, nullptr),
        intarsia_pipeline_add_function(nullptr, nullptr),
        intarsia_pipeline_connect(nullptr, nullptr, nullptr, nullptr, nullptr),
        intarsia_pipeline_connect_by_name(nullptr),
        intarsia_pipeline_read(nullptr, nullptr),
        intarsia_pipeline_start(nullptr, nullptr, nullptr),
        intarsia_pipeline_describe(nullptr, nullptr),
        intarsia_pipeline_input(nullptr, 0, nullptr),
        intarsia_pipeline_output(nullptr, 0, nullptr),
        intarsia_pipeline_push(nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr),
        intarsia_pipeline_pop(nullptr, 0, nullptr, 0, nullptr),
        intarsia_pipeline_finish(nullptr),
        intarsia_pipeline_cancel(nullptr),
        intarsia_pipeline_stage(nullptr, 0, nullptr),
        intarsia_pipeline_set_stage_options(nullptr, "a", nullptr),
        intarsia_pipeline_push_frame(nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr, nullptr),
        intarsia_pipeline_frames(nullptr, nullptr),
        intarsia_pipeline_times(nullptr, 0, 0, nullptr),
        intarsia_stage_call_allocate(nullptr, 0, 1, 0, nullptr, nullptr),
        intarsia_stage_call_give(nullptr, 0, nullptr, nullptr, nullptr),
        intarsia_stage_call_keep(nullptr, 0, nullptr)}) {
    EXPECT_EQ(intarsia_error_kind(error), INTARSIA_ERROR_INVALID_ARGUMENT);
    intarsia_error_release(error);
  }
  intarsia_pipeline_release(nullptr);
  intarsia_pipeline_builder_release(nullptr);
  intarsia_stage_call_fail(nullptr, nullptr);
  intarsia_stage_call_drop(nullptr, nullptr);
}

}  // namespace
}  // namespace intarsia::test
