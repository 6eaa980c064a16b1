// Counts of the arithmetic and the memory traffic of nodes, compared with hand-computed ones.
//
// Covers: src/graph/ count_operations.cc
#include "graph/count_operations.h"

#include <gtest/gtest.h>

#include "graph/parse_graph.h"

namespace intarsia {
namespace {

struct Counts {
  uint64_t operations, bytes;
  bool operator==(const Counts&) const = default;
};

/// Returns the counts of the last node.
Counts count(const std::string& body) {
  const Result<Graph> graph = parse_graph("graph \"case\" opsets {\"\": 18}\n" + body);
  EXPECT_TRUE(graph) << graph.error().message << body;
  if (!graph) return {};
  return {count_operations(*graph, graph->nodes.back()), count_bytes(*graph, graph->nodes.back())};
}

TEST(CountOperations, AMultiplyAndAnAddAreTwo) {
  EXPECT_EQ(count(R"(input %x : f32[2,5,7]
input %w : f32[7,3]
%y : f32[2,5,3] = MatMul(%x, %w)
output %y
)"),
            (Counts{2 * (2 * 5 * 3) * 7, 4 * (70 + 21 + 30)}));
  EXPECT_EQ(count(R"(input %x : f32[7,5]
input %w : f32[3,7]
%y : f32[5,3] = Gemm(%x, %w) {transA=1, transB=1}
output %y
)"),
            (Counts{2 * (5 * 3) * 7, 4 * (35 + 21 + 15)}));
}

TEST(CountOperations, ConvolutionsCountTheirGroups) {
  EXPECT_EQ(count(R"(input %x : f32[1,8,6,6]
input %w : f32[4,2,3,3]
%y : f32[1,4,4,4] = Conv(%x, %w) {group=4}
output %y
)")
                .operations,
            2u * (4 * 4 * 4) * (2 * 3 * 3));
  EXPECT_EQ(count(R"(input %x : f32[1,8,4,4]
input %w : f32[8,3,2,2]
%y : f32[1,3,8,8] = ConvTranspose(%x, %w) {strides=[2,2]}
output %y
)")
                .operations,
            2u * (8 * 4 * 4) * (3 * 2 * 2));
}

TEST(CountOperations, ALibraryAvoidsSome) {
  const auto least_of = [](const std::string& body) {
    const Result<Graph> parsed = parse_graph("graph \"case\" opsets {\"\": 21}\n" + body);
    EXPECT_TRUE(parsed) << parsed.error().message;
    const Graph graph = parsed.value_or(Graph());
    return count_least_operations(graph, graph.nodes.back());
  };
  EXPECT_EQ(least_of(R"(input %x : f32[1,8,6,6]
input %w : f32[4,8,1,1]
%y : f32[1,4,6,6] = Conv(%x, %w)
output %y
)"),
            2u * (4 * 6 * 6) * 8);
  EXPECT_EQ(least_of(R"(input %x : f32[1,8,6,6]
input %w : f32[4,8,3,3]
%y : f32[1,4,4,4] = Conv(%x, %w)
output %y
)"),
            2u * (4 * 4 * 4) * (8 * 3 * 3) / 6);
  EXPECT_EQ(least_of(R"(input %x : i8[2,5]
input %s : f32[]
input %w : f32[5,3]
%f : f32[2,5] = DequantizeLinear(%x, %s)
%y : f32[2,3] = MatMul(%f, %w)
output %y
)"),
            0u);
}

TEST(CountOperations, OthersOnlyMoveData) {
  EXPECT_EQ(count(R"(input %x : f32[2,3]
%y : f32[2,3] = Relu(%x)
output %y
)"),
            (Counts{0, 48}));
  EXPECT_EQ(count(R"(input %x : f32[1000,4]
input %i : i64[2]
%y : f32[2,4] = Gather(%x, %i)
output %y
)"),
            (Counts{0, 32 + 16 + 32}));
}

TEST(CountOperations, WhatIsNotKnownIsNothing) {
  EXPECT_EQ(count(R"(input %x : f32[?,7]
input %w : f32[7,3]
%y : f32[?,3] = MatMul(%x, %w)
output %y
)"),
            (Counts{0, 0}));
  EXPECT_EQ(count(R"(input %x : f32[0,7]
input %w : f32[7,3]
%y : f32[0,3] = MatMul(%x, %w)
output %y
)")
                .operations,
            0u);
}

}  // namespace
}  // namespace intarsia
