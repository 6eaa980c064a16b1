// Times of a graph's segments, from the kernels of a plan that ran.
//
// Covers: src/plan/costs/ region_costs.cc segment_times.cc
#include "plan/costs/segment_times.h"

#include <gtest/gtest.h>

#include "graph/parse_graph.h"
#include "plan/costs/region_costs.h"
#include "plan/partition/partition_graph.h"
#include "tests/support/fake_target.h"

namespace intarsia {
namespace {

using Times = std::vector<int64_t>;

/// Fixture with three products of equal sizes and an activation after the second, all in one region; each
/// product starts a segment.
class SegmentTimes : public testing::Test {
 protected:
  Times of_kernels(const std::vector<std::pair<std::string, int64_t>>& kernels,
                   const std::vector<double>& least = {0, 0, 0}) const {
    PlanTimes times{.regions = {{.nanoseconds = 600}}};
    for (const auto& [label, nanoseconds] : kernels) times.kernels.push_back({0, label, nanoseconds});
    const std::vector<uint32_t> first{0, 1, 1, 3};
    return segment_times(graph_, partition_, times, list_segments(first), least);
  }

  const Graph graph_ = parse_graph(R"(graph "products" opsets {"": 17}
input %x : f32[100,100]
input %w : f32[100,100]
%a : f32[100,100] = MatMul(%x, %w) "one"
%b : f32[100,100] = MatMul(%a, %w) "two"
%c : f32[100,100] = Relu(%b) "active"
%d : f32[100,100] = MatMul(%c, %w) "three"
output %d
)")
                           .value();
  const Partition partition_ = partition_graph(graph_, Placement({0, 0, 0, 0}));
};

TEST_F(SegmentTimes, AreThoseOfTheirKernels) {
  EXPECT_EQ(of_kernels({{"one: MatMul", 100}, {"b: MatMul Relu", 300}, {"three: MatMul", 200}}),
            (Times{100, 300, 200}));
}

TEST_F(SegmentTimes, WhatRanBetweenKernelsIsSpread) {
  EXPECT_EQ(of_kernels({{"one: MatMul", 50}, {"two: MatMul", 150}, {"three: MatMul", 100}}),
            (Times{100, 300, 200}));
}

TEST_F(SegmentTimes, AKernelWithAnotherNameBelongsToWorkWithoutAKernel) {
  const Times times = of_kernels({{"one: MatMul", 400}, {"inserted: Reorder", 0}, {"three: MatMul", 200}});
  EXPECT_EQ(times[0] + times[1], 400);
  EXPECT_NEAR(static_cast<double>(times[0]), 200, 15);  // the second also has an activation
  EXPECT_EQ(times[2], 200);
}

TEST_F(SegmentTimes, WorkAtTheBeginningSharesTheTimeOfWhatFollows) {
  const Times times = of_kernels({{"three: MatMul", 600}});
  for (int64_t time : times) EXPECT_NEAR(static_cast<double>(time), 200, 20);
}

TEST_F(SegmentTimes, NothingTakesLessThanItCan) {
  const std::vector<std::pair<std::string, int64_t>> kernels{
      {"one: A", 30}, {"two: B", 300}, {"three: C", 270}};
  EXPECT_EQ(of_kernels(kernels, {190, 190, 190}), (Times{190, 207, 203}));
  EXPECT_EQ(of_kernels(kernels, {210, 210, 210}), (Times{30, 300, 270}));  // the whole takes 600
}

TEST_F(SegmentTimes, TheLeastIsOfProductsOrOfWhatIsWritten) {
  const std::vector<NodeId> product{NodeId{0}}, active{NodeId{2}}, both{NodeId{1}, NodeId{2}};
  EXPECT_EQ(least_time(graph_, product, 100), 2.0 * 100 * 100 * 100 / 100);
  EXPECT_EQ(least_time(graph_, active, 100), 4.0 * 100 * 100 / 100);
  EXPECT_EQ(least_time(graph_, both, 100), 2.0 * 100 * 100 * 100 / 100);
}

TEST_F(SegmentTimes, ARegionTakesWhatItsSegmentsTake) {
  FakeTarget fake("fake", {});
  const PlanningProblem problem{.graph = graph_,
                                .slots = {{"a", "cpu", "cpu"}, {"b", "cpu", "cpu"}},
                                .targets = {{&fake, 0, "fake@a"}, {&fake, 1, "fake@b"}}};
  const Partition two = partition_graph(graph_, Placement({0, 0, 0, 1}));
  SegmentCosts costs{.segments = {{NodeId{0}}, {NodeId{1}, NodeId{2}}, {NodeId{3}}},
                     .times = {{10, never}, {20, 50}, {never, 7}}};
  std::vector<RegionCost> regions(2);
  predict_regions(problem, two, costs, regions);
  EXPECT_EQ(regions[0].predicted, 30);
  EXPECT_EQ(regions[1].predicted, 7);

  const Partition torn = partition_graph(graph_, Placement({0, 0, 1, 1}));
  regions.assign(2, {});
  predict_regions(problem, torn, costs, regions);
  EXPECT_EQ(regions[0].predicted, std::nullopt);
  EXPECT_EQ(regions[1].predicted, std::nullopt);
}

}  // namespace
}  // namespace intarsia
