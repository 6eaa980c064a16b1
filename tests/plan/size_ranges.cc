// Sizes at which plans are compared, and the ranges in which each of them is the fastest.
//
// Covers: src/plan/choose/ planning_sizes.cc size_ranges.cc
// src/graph/ size_roles.cc
#include "plan/choose/size_ranges.h"

#include <gtest/gtest.h>

#include "plan/choose/planning_sizes.h"
#include "target/timing.h"

namespace intarsia {
namespace {

using Ranges = std::vector<PlanRange>;
constexpr SizeRange any{};

TEST(PlanRanges, EndWhereTheLinesCross) {
  EXPECT_EQ(find_plan_ranges({1, 32}, {{1, {10, 12}}, {32, {320, 160}}}, 0.1), (Ranges{{1, 2, 32, 1}}));
  EXPECT_EQ(find_plan_ranges(any, {{1, {10, 40}}, {11, {110, 80}}}, 0.1), (Ranges{{1, 6, any.max, 1}}));
  EXPECT_EQ(find_plan_ranges({1, 32}, {{1, {20, 10}}, {21, {20, 30}}}, 0.1), (Ranges{{1, 1, 10, 0}}));
}

TEST(PlanRanges, AGainThatIsTooSmallIsNone) {
  EXPECT_EQ(find_plan_ranges({1, 32}, {{1, {100, 120}}, {32, {100, 96}}}, 0.05), Ranges{});
  EXPECT_EQ(find_plan_ranges({1, 32}, {{1, {100, 96}}, {32, {100, 99}}}, 0.05), Ranges{});
}

TEST(PlanRanges, SeveralPlansAndPoints) {
  EXPECT_EQ(find_plan_ranges({1, 300}, {{1, {10, 20, 20}}, {11, {20, 10, 20}}, {111, {90, 80, 10}}}, 0.05),
            (Ranges{{1, 6, 23, 1}, {2, 24, 300, 2}}));
  EXPECT_EQ(find_plan_ranges({1, 300}, {{1, {10, 20}}, {11, {20, 10}}, {21, {20, 10}}, {31, {10, 20}}}, 0.05),
            (Ranges{{1, 6, 25, 2}}));
}

TEST(PlanRanges, APlanThatDoesNotRunAtASizeIsNotChosenThere) {
  EXPECT_EQ(find_plan_ranges({1, 32}, {{1, {10, never}}, {32, {320, 160}}}, 0.1), (Ranges{{1, 32, 32, 1}}));
  EXPECT_EQ(find_plan_ranges({1, 32}, {{1, {10, 20}}, {32, {never, 160}}}, 0.1), (Ranges{{1, 2, 32, 1}}));
  EXPECT_EQ(find_plan_ranges({1, 32}, {{1, {10, 20}}, {32, {never, never}}}, 0.1), Ranges{});
}

/// Returns the sizes for inputs whose first axis is the first open size, and whose second the other.
std::vector<PlanningSizes> sizes_of(std::vector<OpenSize> open) {
  Graph graph;
  SymbolicShape shape;
  for (const OpenSize& size : open) shape.push_back(Dim::named(size.name));
  graph.inputs.push_back(graph.add_value("x", {DType::f32, shape}));
  graph.open_sizes = std::move(open);
  return planning_sizes(graph);
}

TEST(PlanningSizes, OneVariesAtATime) {
  EXPECT_EQ(sizes_of({{"batch", {1, 32}}, {"seq", any}}),
            (std::vector<PlanningSizes>{{1, 1}, {32, 1}, {1, 16}, {1, 128}}));
  EXPECT_EQ(sizes_of({{"batch", any}}), (std::vector<PlanningSizes>{{1}}));
  EXPECT_EQ(sizes_of({{"first", any}}), (std::vector<PlanningSizes>{{1}})) << "the first axis is the batch";
  EXPECT_EQ(sizes_of({{"batch", {4, 4}}, {"seq", {10, 100}}}),
            (std::vector<PlanningSizes>{{4, 10}, {4, 16}, {4, 100}}));
}

TEST(PlanningSizes, TheUsersTakeTheirPlace) {
  EXPECT_EQ(sizes_of({{"batch", {1, 32}, {8, 1, 8}}, {"seq", any, {7}}}),
            (std::vector<PlanningSizes>{{8, 7}, {1, 7}}));
}

TEST(PlanningSizes, ArePrinted) {
  Graph graph;
  graph.open_sizes = {{"batch", any, {8}}, {"seq", {3, 9}}};
  EXPECT_EQ(print_planned_sizes(graph), "batch = 8, seq = 3");
  graph.open_sizes[1].planned = 5;
  EXPECT_EQ(print_planned_sizes(graph, "=", ","), "batch=8,seq=5");
}

}  // namespace
}  // namespace intarsia
