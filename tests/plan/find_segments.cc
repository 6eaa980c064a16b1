// Stretches of a graph that are placed as a whole, and groups that a plug-in wants together.
//
// Covers: src/plan/ find_segments.cc
#include "plan/find_segments.h"

#include <gtest/gtest.h>

#include "graph/parse_graph.h"

namespace intarsia {
namespace {

/// product relu product relu product, 0 to 4.
Graph chain() {
  std::string text = "graph \"\" opsets {\"\": 18}\ninput %v0 : f32[2,2]\ninput %w : f32[2,2]\n";
  const char* ops[] = {"MatMul", "Relu", "MatMul", "Relu", "MatMul"};
  for (int i = 0; i < 5; ++i) {
    const bool is_product = i % 2 == 0;
    text +=
        fmt::format("%v{} : f32[2,2] = {}(%v{}{}) \"n{}\"\n", i + 1, ops[i], i, is_product ? ", %w" : "", i);
  }
  return parse_graph(text + "output %v5\n").value();
}

std::vector<uint32_t> segments_of(const std::vector<std::vector<size_t>>& groups) {
  const Graph graph = chain();
  return find_segments(graph, std::vector<std::vector<bool>>(graph.nodes.size(), {true, true}), groups);
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
  const std::vector<std::vector<bool>> anywhere(graph.nodes.size(), {true, true});
  EXPECT_EQ(find_segments(graph, anywhere, {}), (std::vector<uint32_t>{0, 1, 1, 1})) << "a alone";
}

/// Quantizing and undoing it are on both sides of a cut, as a framework runs what is between in integers.
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
  const std::vector<std::vector<bool>> anywhere(graph.nodes.size(), {true, true});
  EXPECT_EQ(find_segments(graph, anywhere, {}), (std::vector<uint32_t>{0, 0, 2, 2, 2}));
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
