// Limits of integers that index the elements of another tensor.
//
// Covers: src/passes/ index_limits.cc
#include "passes/index_limits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/parse_graph.h"

namespace intarsia::test {
namespace {

/// Returns the limit of input %i in a graph of these nodes.
int64_t limit_of(std::string_view nodes) {
  Result<Graph> graph = parse_graph(fmt::format("graph \"indices\" opsets {{\"\": 18}}\n{}", nodes));
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? index_limits(*graph)[index(graph->inputs[1])] : -1;
}

TEST(IndexLimits, SmallestAxisThatIsIndexed) {
  EXPECT_EQ(limit_of(R"(input %x : f32[5,7]
input %i : i64[3]
%a = Gather(%x, %i)
%b = Gather(%x, %i) {axis=-1}
output %a
output %b)"),
            5);
}

TEST(IndexLimits, ThroughViewsCastsAndJoints) {
  EXPECT_EQ(limit_of(R"(input %x : f32[9,1]
input %i : i32[2,3]
input %j : i64[3,1]
%t = Transpose(%i) {perm=[1,0]}
%long = Cast(%t) {to=7}
%all = Concat(%j, %long) {axis=1}
%y = GatherElements(%x, %all) {axis=1}
output %y)"),
            1);
}

TEST(IndexLimits, TuplesReachEachAxis) {
  EXPECT_EQ(limit_of(R"(input %x : f32[2,8,4,3]
input %i : i64[2,6,2]
%y = GatherND(%x, %i) {batch_dims=1}
output %y)"),
            4);
}

TEST(IndexLimits, NoneWhereElementsAreComputedWith) {
  EXPECT_EQ(limit_of(R"(input %x : f32[5,7]
input %i : i64[3]
%s = Add(%i, %i)
%y = Gather(%x, %s)
output %y)"),
            0);
}

TEST(IndexLimits, NoneOfWhatIsRead) {
  EXPECT_EQ(limit_of(R"(input %i : i64[3]
input %x : i64[5,7]
%y = Gather(%x, %i)
output %y)"),
            0);
}

}  // namespace
}  // namespace intarsia::test
