// Routes of a pipeline's values, and what cannot be connected.
//
// Covers: src/pipeline/ pipeline_graph.cc
#include "pipeline/pipeline_graph.h"

#include <gtest/gtest.h>

#include "tests/support/pipeline_routes.h"

namespace intarsia {
namespace {

class Ports final : public Stage {
 public:
  Ports(std::vector<StagePort> inputs, std::vector<StagePort> outputs)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}
  std::span<const StagePort> inputs() const override { return inputs_; }
  std::span<const StagePort> outputs() const override { return outputs_; }
  Status run(uint64_t, std::span<const NamedTensor>, std::span<NamedTensor>) override { return {}; }

 private:
  std::vector<StagePort> inputs_, outputs_;
};

std::vector<StagePort> f32(const std::vector<std::string>& names) {
  std::vector<StagePort> ports;
  for (const std::string& name : names) ports.push_back({name, DType::f32, Shape{2}});
  return ports;
}

void add(PipelineGraph& graph, const std::string& name, std::vector<StagePort> inputs,
         std::vector<StagePort> outputs) {
  PipelineGraph::NamedStage stage{name, {}};
  stage.replicas.push_back(std::make_unique<Ports>(std::move(inputs), std::move(outputs)));
  graph.stages.push_back(std::move(stage));
}

/// Makes x -> a -> b -> c -> y, with "skip" from a past b to c; "late" enters at c.
PipelineGraph three_stages() {
  PipelineGraph graph;
  add(graph, "a", f32({"x"}), f32({"h", "skip"}));
  add(graph, "b", f32({"h"}), f32({"h"}));
  add(graph, "c", f32({"h", "skip", "late"}), f32({"y"}));
  return graph;
}

TEST(PipelineGraph, NamesConnectTheLastMakerBeforeAStage) {
  PipelineGraph graph = three_stages();
  graph.connect_by_name();
  const auto found = find_routes(graph);
  ASSERT_TRUE(found) << found.error().message;
  const PipelineRoutes& routes = *found;
  // Values are numbered x, late; a.h, a.skip; b.h; c.y.
  EXPECT_EQ(routes.inputs, (std::vector<std::string>{"x", "late"}));
  EXPECT_EQ(routes.stages[1].inputs, (std::vector<uint32_t>{2}));
  EXPECT_EQ(routes.stages[2].inputs, (std::vector<uint32_t>{4, 3, 1}));
  EXPECT_EQ(routes.stages[2].producers, (std::vector<uint32_t>{0, 1}));
  ASSERT_EQ(routes.outputs.size(), 1u);
  EXPECT_EQ(routes.outputs[0].name, "y");
  EXPECT_EQ(routes.outputs[0].value, 5u);
  EXPECT_EQ(routes.first, (std::vector<uint32_t>{0}));
  EXPECT_EQ(routes.last, (std::vector<uint32_t>{2}));
}

TEST(PipelineGraph, WhatIsConnectedByHandStays) {
  PipelineGraph graph = three_stages();
  graph.connections = {{{"a", "h"}, {"c", "h"}}, {{"b", "h"}, {"", "middle"}}};
  graph.connect_by_name();
  const auto routes = find_routes(graph);
  ASSERT_TRUE(routes) << routes.error().message;
  EXPECT_EQ(routes->stages[2].producers, (std::vector<uint32_t>{0}));
  EXPECT_EQ(routes->outputs[0].name, "middle");
}

TEST(PipelineGraph, FaultsAreNamed) {
  PipelineGraph graph;
  EXPECT_EQ(error_of(graph), "the pipeline has no stage; add one before it starts");

  graph = three_stages();
  EXPECT_EQ(error_of(graph),
            "input 'x' of stage 'a' is not connected; connect it to a stage's output or to an input of the "
            "pipeline");
  graph.connections = {{{"a", "nothing"}, {"b", "h"}}};
  EXPECT_EQ(error_of(graph),
            "connection of 'a.nothing': stage 'a' has no output 'nothing'; it has 'h', 'skip'");
  graph.connections = {{{"a", "h"}, {"d", "h"}}};
  EXPECT_EQ(error_of(graph), "connection of 'd.h': there is no stage 'd'");
  graph.connections = {{{"", "x"}, {"a", "x"}}, {{"", "z"}, {"a", "x"}}};
  EXPECT_EQ(error_of(graph), "input 'x' of stage 'a' is connected twice");
  graph.connections = {{{"c", "y"}, {"", "y"}}, {{"a", "h"}, {"", "y"}}};
  EXPECT_EQ(error_of(graph), "output 'y' of the pipeline is connected twice");

  graph.connections = {{{"b", "h"}, {"a", "x"}}};
  graph.connect_by_name();
  EXPECT_EQ(error_of(graph),
            "the connections of the stages 'a', 'b', 'c' form a cycle, or come after one; a frame only goes "
            "forward");

  add(graph, "b", {}, {});
  EXPECT_EQ(error_of(graph), "two stages are named 'b'");
}

TEST(PipelineGraph, ReplicasHaveEqualPorts) {
  const auto error_with = [](std::vector<StagePort> inputs, std::vector<StagePort> outputs) {
    PipelineGraph graph;
    add(graph, "a", f32({"x"}), f32({"y"}));
    graph.stages[0].replicas.push_back(std::make_unique<Ports>(std::move(inputs), std::move(outputs)));
    graph.connect_by_name();
    return error_of(graph);
  };
  EXPECT_EQ(error_with(f32({"x"}), f32({"y"})), "none");
  EXPECT_EQ(error_with(f32({"z"}), f32({"y"})), "stage 'a', replica 1: input 'z' is f32 2, want 'x', f32 2");
  EXPECT_EQ(error_with(f32({"x"}), {{"y", DType::i64, Shape{2}}}),
            "stage 'a', replica 1: output 'y' is i64 2, want 'y', f32 2");
  EXPECT_EQ(error_with(f32({"x"}), f32({"y", "z"})), "stage 'a', replica 1: it has 2 outputs, want 1");
}

TEST(PipelineGraph, TypesMustAgreeWhereTheyAreKnown) {
  PipelineGraph graph;
  add(graph, "make", {}, {{"y", DType::f32, Shape{-1, 3}}});
  add(graph, "read", {{"x", DType::f32, Shape{5, 3}}}, {});
  graph.connections = {{{"make", "y"}, {"read", "x"}}};
  EXPECT_EQ(error_of(graph), "none");
  graph.stages[0].replicas[0] =
      std::make_unique<Ports>(f32({}), std::vector<StagePort>{{"y", DType::i64, Shape{5, 3}}});
  EXPECT_EQ(error_of(graph), "connection 'make.y' -> 'read.x': it gives i64 5x3, but wants f32 5x3");
  graph.stages[0].replicas[0] =
      std::make_unique<Ports>(f32({}), std::vector<StagePort>{{"y", DType::f32, Shape{5}}});
  EXPECT_EQ(error_of(graph), "connection 'make.y' -> 'read.x': it gives f32 5, but wants f32 5x3");
  graph.stages[0].replicas[0] =
      std::make_unique<Ports>(f32({}), std::vector<StagePort>{{"y", DType::undefined, std::nullopt}});
  EXPECT_EQ(error_of(graph), "none");
}

}  // namespace
}  // namespace intarsia
