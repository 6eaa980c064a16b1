// Layouts of values: between regions of one backend they are as it prefers; all others stay as in the model.
//
// Covers: src/plan/partition/ boundary_layouts.cc
#include "plan/partition/boundary_layouts.h"

#include <gtest/gtest.h>

#include "graph/parse_graph.h"
#include "graph/print_graph.h"
#include "plan/partition/partition_graph.h"
#include "tests/support/fake_target.h"

namespace intarsia {
namespace {

/// Fixture with three targets: 0 and 1 are one backend on two slots, 2 is another without preferences.
class BoundaryLayouts : public testing::Test {
 protected:
  void place(const std::string& text, const std::vector<uint32_t>& target_of_node) {
    problem_.graph = parse_graph(text).value();
    placement_ = Placement(target_of_node);
    partition_ = partition_graph(problem_.graph, placement_);
    EXPECT_TRUE(choose_boundary_layouts(problem_, partition_));
    EXPECT_TRUE(verify_boundary_layouts(problem_, partition_));
  }

  std::string layouts() const {
    std::string text;
    for (const auto& [value, order] : partition_.layouts) text += problem_.graph.value(value).name + " ";
    return text;
  }

  ChannelsLastTarget ours_{"ours", {}};
  FakeTarget other_{"other", {}};
  PlanningProblem problem_{
      .slots = {{"a", "cpu", "cpu"}, {"b", "cpu", "cpu"}},
      .targets = {{&ours_, 0, "ours@a"}, {&ours_, 1, "ours@b"}, {&other_, 0, "other@a"}}};
  Placement placement_;
  Partition partition_;
};

constexpr auto chain = R"(graph "g" opsets {"": 17}
input %x : f32[1,8,4,4]
%a : f32[1,8,4,4] = Relu(%x) "a"
%b : f32[1,8,4,4] = Relu(%a) "b"
%c : f32[1,8,4,4] = Relu(%b) "c"
output %c)";

TEST_F(BoundaryLayouts, BetweenRegionsOfOneBackend) {
  place(chain, {0, 1, 0});
  EXPECT_EQ(layouts(), "a b ");
  EXPECT_EQ(print_graph(extract_region(problem_.graph, partition_, 1)), R"(graph "g" opsets {"": 17}
input %a/stored : f32[1,4,4,8]
%a : f32[1,8,4,4] = Transpose.13(%a/stored) {perm=[0,3,1,2]}
%b : f32[1,8,4,4] = Relu(%a)
%b/stored : f32[1,4,4,8] = Transpose.13(%b) {perm=[0,2,3,1]} "b"
output %b/stored
)");
  EXPECT_EQ(print_graph(extract_region(problem_.graph, partition_, 2)), R"(graph "g" opsets {"": 17}
input %b/stored : f32[1,4,4,8]
%b : f32[1,8,4,4] = Transpose.13(%b/stored) {perm=[0,3,1,2]}
%c : f32[1,8,4,4] = Relu(%b)
output %c
)");
}

TEST_F(BoundaryLayouts, WhatAnotherBackendReadsOrMakesStays) {
  place(chain, {0, 2, 0});
  EXPECT_EQ(layouts(), "");
  EXPECT_EQ(extract_region(problem_.graph, partition_, 1),
            extract_subgraph(problem_.graph, {NodeId{1}}, partition_.boundaries[1]));
  place(chain, {2, 0, 1});
  EXPECT_EQ(layouts(), "b ");
}

TEST_F(BoundaryLayouts, WhatLeavesTheGraphStays) {
  place(R"(graph "g" opsets {"": 17}
input %x : f32[1,8,4,4]
%a : f32[1,8,4,4] = Relu(%x)
%b : f32[1,8,4,4] = Relu(%a)
output %a
output %b)",
        {0, 1});
  EXPECT_EQ(layouts(), "");
}

TEST_F(BoundaryLayouts, NotWhereSizesAreUnknownOrAxesAreOfOneElement) {
  place(R"(graph "g" opsets {"": 17}
input %x : f32[1,8,4,4]
%a : f32[?,8,4,4] = Foo.1(%x)
%b : f32[1,8,1,1] = Foo.1(%a)
%c : f32[1,1,4,4] = Foo.1(%b)
%d : f32[8,4] = Foo.1(%c)
%e : f32[8,4] = Foo.1(%d)
output %e)",
        {0, 1, 0, 1, 0});
  EXPECT_EQ(layouts(), "");
}

TEST_F(BoundaryLayouts, TheVerifierFindsWhatIsWrong) {
  place(chain, {0, 1, 2});
  const auto error_with = [&](const char* value, AxisOrder order) {
    Partition wrong = partition_;
    for (uint32_t i = 0; i < problem_.graph.values.size(); ++i) {
      if (problem_.graph.values[i].name == value) wrong.layouts[ValueId{i}] = order;
    }
    return verify_boundary_layouts(problem_, wrong).error().message;
  };
  EXPECT_NE(error_with("a", {0, 1, 1, 2}).find("value 'a' has a layout that does not order"),
            std::string::npos);
  EXPECT_NE(error_with("a", {0, 2, 1}).find("does not order its axes"), std::string::npos);
  EXPECT_NE(error_with("b", {0, 2, 3, 1}).find("not only between regions of one backend"), std::string::npos);
  EXPECT_NE(error_with("c", {0, 2, 3, 1}).find("not only between regions of one backend"), std::string::npos);
  EXPECT_NE(error_with("x", {0, 2, 3, 1}).find("not only between regions of one backend"), std::string::npos);
}

}  // namespace
}  // namespace intarsia
