// Segments of a graph that are placed as a whole, and groups that a plug-in wants together.
//
// Covers: src/plan/costs/ find_segments.cc
#include "plan/costs/find_segments.h"

#include <gtest/gtest.h>

#include "graph/parse_graph.h"

namespace intarsia {
namespace {

/// Makes a chain of product, relu, product, relu, product, numbered 0 to 4.
Graph five_in_a_row() {
  std::string text = "graph \"\" opsets {\"\": 18}\ninput %v0 : f32[2,2]\ninput %w : f32[2,2]\n";
  const char* ops[] = {"MatMul", "Relu", "MatMul", "Relu", "MatMul"};
  for (int i = 0; i < 5; ++i) {
    const bool is_product = i % 2 == 0;
    text +=
        fmt::format("%v{} : f32[2,2] = {}(%v{}{}) \"n{}\"\n", i + 1, ops[i], i, is_product ? ", %w" : "", i);
  }
  return parse_graph(text + "output %v5\n").value();
}

PlanningProblem problem_of(Graph graph, size_t executors) {
  PlanningProblem problem{.graph = std::move(graph)};
  problem.slots.resize(executors);
  return problem;
}

std::vector<std::vector<bool>> anywhere(size_t nodes) {
  return std::vector<std::vector<bool>>(nodes, {true, true});
}

std::vector<uint32_t> segments_of(const std::vector<std::vector<size_t>>& groups) {
  return find_segments(problem_of(five_in_a_row(), 1), anywhere(5), groups);
}

constexpr size_t none = no_group;

TEST(FindSegments, EndBeforeWork) { EXPECT_EQ(segments_of({}), (std::vector<uint32_t>{0, 0, 2, 2, 4})); }

TEST(FindSegments, BetweenWorkTheyEndWhereTheFewestValuesAreAlive) {
  const Graph graph = parse_graph(R"(graph "" opsets {"": 18}
input %x : f32[2,2]
%a : f32[2,2] = MatMul(%x, %x) "a"
%b : f32[2,2] = Relu(%a) "b"
%c : f32[2,2] = MatMul(%a, %a) "c"
%d : f32[2,2] = Add(%b, %c) "d"
output %d)")
                          .value();
  EXPECT_EQ(find_segments(problem_of(graph, 1), anywhere(graph.nodes.size())),
            (std::vector<uint32_t>{0, 1, 1, 1}))
      << "a alone";
}

TEST(FindSegments, OfSeveralExecutorsTheyEndWhereBranchesMeet) {
  const Graph graph = parse_graph(R"(graph "" opsets {"": 18}
input %x : f32[2,2]
%a : f32[2,2] = MatMul(%x, %x) "a"
%b : f32[2,2] = MatMul(%x, %x) "b"
%c : f32[2,2] = Relu(%b) "c"
%sum : f32[2,2] = Add(%a, %c) "sum"
%d : f32[2,2] = Relu(%sum) "d"
%e : f32[2,2] = MatMul(%d, %d) "e"
%skip : f32[2,2] = Add(%sum, %e) "skip"
output %skip)")
                          .value();
  const auto segments = [&](size_t executors) {
    return find_segments(problem_of(graph, executors), anywhere(graph.nodes.size()));
  };
  EXPECT_EQ(segments(2), (std::vector<uint32_t>{0, 1, 1, 3, 3, 3, 3}))
      << "what is added to its own is no join";
  EXPECT_EQ(segments(1), (std::vector<uint32_t>{0, 1, 1, 1, 4, 4, 4}));
}

/// Checks that a cut separates quantizing from undoing it, since a framework runs what lies between in
/// integers.
TEST(FindSegments, OfAsManyValuesTheyEndWhereTheyAreSmallest) {
  const Graph graph = parse_graph(R"(graph "" opsets {"": 18}
input %x : f32[2,2]
input %scale : f32[]
%a : f32[2,2] = MatMul(%x, %x) "a"
%q : i8[2,2] = QuantizeLinear(%a, %scale) "quantize"
%d : f32[2,2] = DequantizeLinear(%q, %scale) "undo"
%p : f32[4,4] = Pad(%d) "pad"
%b : f32[4,4] = MatMul(%p, %p) "b"
output %b)")
                          .value();
  EXPECT_EQ(find_segments(problem_of(graph, 1), anywhere(graph.nodes.size())),
            (std::vector<uint32_t>{0, 0, 2, 2, 2}));
}

TEST(FindSegments, AGroupIsInOneWithAllBetween) {
  EXPECT_EQ(segments_of({{5, none, 5, none, none}}), (std::vector<uint32_t>{0, 0, 0, 0, 4}));
  EXPECT_EQ(segments_of({{none, none, 1, 1, none}}), (std::vector<uint32_t>{0, 0, 2, 2, 4}));
  EXPECT_EQ(segments_of({{0, none, none, none, 0}}), (std::vector<uint32_t>{0, 0, 0, 0, 0}));
  EXPECT_EQ(segments_of({{0, 0, none, none, none}, {none, 3, none, none, 3}}),
            (std::vector<uint32_t>{0, 0, 0, 0, 0}))
      << "of two targets";
}

}  // namespace
}  // namespace intarsia
