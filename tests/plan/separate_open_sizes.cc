// Regions of a backend that takes one open size in each, and of one whose nodes may end their region.
//
// Covers: src/plan/partition/ separate_open_sizes.cc
#include "plan/partition/separate_open_sizes.h"

#include <gtest/gtest.h>

#include "graph/parse_graph.h"
#include "plan/partition/partition_graph.h"
#include "tests/support/fake_target.h"

namespace intarsia::test {
namespace {

class OneOpenSizeTarget : public FakeTarget {
 public:
  OneOpenSizeTarget() : FakeTarget("one", {}) {}
  bool wants_one_open_size(const Graph&, NodeId) const override { return true; }
};

class EndingTarget : public FakeTarget {
 public:
  EndingTarget() : FakeTarget("ending", {}) {}
  bool ends_region(const Graph& graph, NodeId node) const override { return graph.node(node).op == "End"; }
};

/// Returns the regions that the targets make of the nodes, as "a b | c".
std::string regions(const Target& first, const char* graph, const std::vector<uint32_t>& target_of) {
  const FakeTarget any("any", {});
  PlanningProblem problem;
  problem.graph = parse_graph(graph).value();
  problem.slots = {{"cpu", "cpu", "cpu"}};
  problem.targets = {{&first, 0, "first@cpu"}, {&any, 0, "any@cpu"}};
  problem.space_of_target = {0, 0};
  Placement placement(target_of);
  separate_open_sizes(problem, placement);
  const Partition partition = partition_graph(problem.graph, placement);
  EXPECT_TRUE(verify_partition(problem.graph, placement, partition));
  std::string text;
  for (const Region& region : partition.regions) {
    if (!text.empty()) text += " |";
    for (NodeId node : region.nodes) text += " " + problem.graph.node(node).name;
  }
  return text;
}

constexpr const char* of_sizes = R"(graph "g" opsets {"": 17}
input %x : f32[n,4]
input %w : f32[3]
input %z : f32[m,4]
%a : f32[n,4] = Foo(%x) "a"
%b : f32[3] = Foo(%w) "b"
%c : f32[2*n,2] = Foo(%a) "c"
%d : f32[m,4] = Foo(%z) "d"
%e : f32[3] = Foo(%b) "e"
output %c
output %d
output %e)";

TEST(SeparateOpenSizes, ARegionHasOneOpenSizeOrNone) {
  const OneOpenSizeTarget one;
  EXPECT_EQ(regions(one, of_sizes, {0, 0, 0, 0, 0}), " a c | b e | d");
  EXPECT_EQ(regions(one, of_sizes, {1, 1, 1, 1, 1}), " a b c d e") << "other backends take all";
  EXPECT_EQ(regions(one, of_sizes, {0, 1, 0, 1, 1}), " a c | b d e");
}

constexpr const char* of_ends = R"(graph "g" opsets {"": 17}
input %x : f32[4]
input %y : f32[4]
%a : f32[4] = Foo(%x) "a"
%b : f32["p"] = End(%a) "b"
%c : f32["p"] = Foo(%b) "c"
%d : f32["q"] = End(%y) "d"
%e : f32[4] = Foo(%c, %d) "e"
%f : f32["r"] = End(%e) "f"
%g : f32[4] = Foo(%y) "g"
%h : f32["r"] = Foo(%f, %g) "h"
output %h)";

TEST(SeparateOpenSizes, ReadersOfWhatEndsARegionAreInALaterOne) {
  const EndingTarget ending;
  EXPECT_EQ(regions(ending, of_ends, {0, 0, 0, 0, 0, 0, 0, 0}), " a b d g | c e f | h");
  EXPECT_EQ(regions(ending, of_ends, {1, 1, 1, 1, 1, 1, 1, 1}), " a b c d e f g h")
      << "other backends do not";
  EXPECT_EQ(regions(ending, of_ends, {1, 0, 1, 0, 1, 1, 1, 1}), " a g | b d | c e f h");
}

}  // namespace
}  // namespace intarsia::test
