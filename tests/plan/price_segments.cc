// Choice of plans where a backend's profile reports wrong times for its parts.
//
// Covers: src/plan/choose/ choose_plan.cc src/plan/costs/ plan_timer.cc price_segments.cc
#include "plan/costs/price_segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "graph/parse_graph.h"
#include "plan/choose/choose_plan.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "plan/place/place_nodes.h"
#include "tests/support/fake_target.h"
#include "tests/support/test_folder.h"

namespace intarsia {
namespace {

constexpr int64_t milliseconds = 1'000'000;

/// Fixture with three products that take fixed times in two backends. The profile of the second calls the
/// second product by the name of the first where both are in one region, so that it seems to take next to
/// nothing.
class WrongProfile : public testing::Test {
 protected:
  WrongProfile() {
    problem.graph = parse_graph(R"(graph "" opsets {"": 18}
input %x : f32[8,64]
input %u : f32[64,32]
input %v : f32[32,16]
input %w : f32[16,8]
%a : f32[8,32] = MatMul(%x, %u) "one"
%b : f32[8,16] = MatMul(%a, %v) "two"
%c : f32[8,8] = MatMul(%b, %w) "three"
output %c)")
                        .value();
    problem.slots = {{"cpu", "cpu", "cpu"}};
    problem.spaces = {"cpu"};
    problem.targets = {{&right, 0, "right@cpu"}, {&wrong, 0, "wrong@cpu"}};
    problem.space_of_target = {0, 0};
  }

  int64_t time_of(NodeId node, uint32_t target) const {
    constexpr std::array<std::array<int64_t, 2>, 3> times{{{2, 1}, {2, 5}, {2, 1}}};
    return times[index(node)][target] * milliseconds;
  }

  PlanTimes run(const Plan& plan) {
    runs.push_back(plan.placement.targets());
    PlanTimes times;
    for (uint32_t r = 0; r < plan.partition.regions.size(); ++r) {
      const Region& region = plan.partition.regions[r];
      int64_t whole = 0;
      for (NodeId node : region.nodes) {
        const bool is_renamed = region.target == 1 && index(node) == 1 && region.nodes[0] != node;
        const NodeId named = is_renamed ? NodeId{0} : node;
        const int64_t time = time_of(node, region.target);
        times.kernels.push_back({r, problem.graph.node(named).name + ": MatMul", time});
        if (is_renamed) times.kernels.push_back({r, problem.graph.node(node).name + ": Reorder", 1000});
        whole += time;
      }
      times.regions.push_back({.nanoseconds = whole});
      times.whole.nanoseconds = (r == 0 ? 0 : times.whole.nanoseconds) + whole;
    }
    return times;
  }

  ChosenPlan choose() {
    CostTable table(folder_.path().string());
    const MeasurePlans measure = [&](const std::vector<const Plan*>& plans) {
      std::vector<Result<PlanTimes>> times;
      for (const Plan* plan : plans) times.emplace_back(run(*plan));
      return Result<std::vector<Result<PlanTimes>>>(std::move(times));
    };
    PlanTimer timer(problem, measure, [] { return int64_t{1000}; }, table, {});
    const PlanTools tools{
        .timer = &timer,
        .time_link = {},
        .price_boundaries = [] { return std::vector<BoundaryPrice>{{2000, 0.2}, {10'000, 0.2}}; },
        .replan =
            [&](Placement placement) {
              Plan plan{std::move(placement), {}, {}};
              plan.partition = partition_graph(problem.graph, plan.placement);
              plan.steps = insert_copies(problem.graph, plan.partition, problem.space_of_target);
              return Result<Plan>(std::move(plan));
            }};
    Plan placed = *tools.replan(*place_nodes(problem.graph, problem.targets, {}));
    return choose_plan(problem, std::move(placed), tools).value();
  }

  FakeTarget right{"right", {"MatMul"}}, wrong{"wrong", {"MatMul"}, true};
  PlanningProblem problem;
  std::vector<std::vector<uint32_t>> runs;

 private:
  test::TestFolder folder_;
};

TEST_F(WrongProfile, IsCorrectedByTheMixtureThatItLedTo) {
  const std::vector<uint32_t> believed{0, 1, 1}, best{0, 0, 1};
  const ChosenPlan chosen = choose();
  EXPECT_EQ(std::ranges::count(runs, believed), 1);
  EXPECT_EQ(chosen.plan.placement.targets(), best);
  EXPECT_NEAR(static_cast<double>(*chosen.predicted), 5e6, 0.1 * 5e6) << "2 and 2 and 1 ms, and boundaries";
}

TEST_F(WrongProfile, IsNotBelievedAgain) {
  choose();
  runs.clear();
  const ChosenPlan again = choose();
  EXPECT_EQ(again.plan.placement.targets(), (std::vector<uint32_t>{0, 0, 1}));
  EXPECT_TRUE(runs.empty()) << "what is wrong is kept corrected";
}

}  // namespace
}  // namespace intarsia
