// Contents of a pipeline's file, and the errors of invalid ones.
//
// Covers: src/pipeline/ pipeline_file.cc src/base/ json_values.cc
#include "pipeline/pipeline_file.h"

#include <gtest/gtest.h>

namespace intarsia {
namespace {

std::string error_of(const std::string& json) {
  const auto file = parse_pipeline_file(json);
  return file ? "none" : file.error().message;
}

TEST(PipelineFile, SaysStagesConnectionsAndOptions) {
  const auto file = parse_pipeline_file(R"({"intarsia_pipeline": 1, "depth": 3, "timeout_ms": 0.5,
    "stages": [{"name": "a", "program": "p.so", "threads": 1, "devices": {"cpu": "cpu:0"}},
               {"name": "b", "program": "q.so", "function": "main", "replicas": [{"threads": 2}, {"program": "s.so"}]},
               {"stages_of": "r.so"}],
    "connections": [["a.y", "b.x.1"]], "inputs": {"in": ["a.x"]}, "outputs": {"out": "b.y"}})");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->options.depth, 3u);
  EXPECT_EQ(file->options.timeout_ns, 500'000);
  ASSERT_EQ(file->stages.size(), 3u);
  EXPECT_EQ(file->stages[0].replicas.at(0).binding.devices.at(0).second, "cpu:0");
  EXPECT_EQ(file->stages[1].replicas.at(1).program, "q.so");
  EXPECT_EQ(file->stages[1].replicas.at(1).function, "main");
  EXPECT_EQ(file->stages[1].replicas.at(1).binding.threads, 2);
  EXPECT_EQ(file->stages[1].replicas.at(2).program, "s.so");
  EXPECT_EQ(file->stages[2].name, "");
  EXPECT_EQ(file->stages[2].replicas.at(0).program, "r.so");
  ASSERT_EQ(file->connections.size(), 3u);
  EXPECT_EQ(file->connections[0].second.port, "x.1");
  EXPECT_EQ(file->connections[1].first.stage, "");
  EXPECT_EQ(file->connections[2].second.port, "out");
}

TEST(PipelineFile, DamageIsNamed) {
  EXPECT_EQ(error_of(""), "it is not JSON");
  EXPECT_EQ(error_of(R"({"intarsia_pipeline": "1"})"), "\"intarsia_pipeline\": got \"1\", want 1");
  EXPECT_EQ(error_of(R"({"intarsia_pipeline": 1, "stages": [{"name": "a"}]})"),
            "stage 'a': want a text \"program\", the path of a program file");
  EXPECT_EQ(
      error_of(R"({"intarsia_pipeline": 1, "stages": [{"stages_of": "p.so"}], "connections": [[1, 2]]})"),
      "connection 0: got 1, want \"STAGE.PORT\"");
}

TEST(PipelineFile, SaysWhatAStageDoesWhenItsDeviceIsLost) {
  const auto file = parse_pipeline_file(R"({"intarsia_pipeline": 1, "stages": [
    {"name": "a", "program": "p.so", "on_device_lost": "error", "replicas": [{}]}]})");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->stages[0].replicas.at(0).binding.on_device_lost, OnDeviceLost::error);
  EXPECT_EQ(file->stages[0].replicas.at(1).binding.on_device_lost, OnDeviceLost::alternative);
  EXPECT_EQ(error_of(R"({"intarsia_pipeline": 1, "stages": [
              {"name": "a", "program": "p.so", "on_device_lost": "retry"}]})"),
            "stage 'a', \"on_device_lost\": got \"retry\", want \"alternative\" or \"error\"");
  EXPECT_EQ(error_of(R"({"intarsia_pipeline": 1, "depth": 2, "depth": 3})"),
            "the key \"depth\" is there twice in one object");
}

TEST(PipelineFile, SaysWhatLiveFramesNeed) {
  const auto file =
      parse_pipeline_file(R"({"intarsia_pipeline": 1, "queue": "latest", "deadline_ms": 40, "stages": [
    {"name": "a", "program": "p.so", "queue": "drop_oldest", "scatter": ["box", "score"]},
    {"name": "b", "program": "p.so", "gather": true}]})");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->options.queue, QueuePolicy::latest);
  EXPECT_EQ(file->options.deadline_ns, 40'000'000);
  EXPECT_EQ(file->stages[0].options.queue, QueuePolicy::drop_oldest);
  EXPECT_EQ(file->stages[0].options.scatter, (std::vector<std::string>{"box", "score"}));
  EXPECT_TRUE(file->stages[1].options.gathers);
  EXPECT_EQ(file->stages[1].options.queue, std::nullopt);
  const auto error_with = [](const std::string& key) {
    return error_of(R"({"intarsia_pipeline": 1, "stages": [{"name": "a", "program": "p.so", )" + key + "}]}");
  };
  EXPECT_EQ(error_with(R"("queue": "newest")"),
            "stage 'a', \"queue\": got \"newest\", want \"block\", \"drop_oldest\" or \"latest\"");
  EXPECT_EQ(error_with(R"("scatter": "box")"), "stage 'a', \"scatter\": want a list of outputs");
  EXPECT_EQ(error_with(R"("gather": 1)"), "stage 'a', \"gather\": want true or false");
}

/// Checks a value so deep that printing it would overflow the stack.
TEST(PipelineFile, ADeepValueIsAnError) {
  constexpr int depth = 1'000'000;
  const std::string deep = std::string(depth, '[') + std::string(depth, ']');
  EXPECT_EQ(error_of(R"({"intarsia_pipeline": )" + deep + "}"),
            "\"intarsia_pipeline\": got an array, want 1");
  EXPECT_EQ(error_of(R"({"intarsia_pipeline": 1, "timeout_ms": )" + deep + "}"),
            "\"timeout_ms\": got an array, want 0 (none) to 1000000000");
}

}  // namespace
}  // namespace intarsia
