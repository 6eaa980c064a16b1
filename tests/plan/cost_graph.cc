// Costs of graphs: placing counts the launches and copies that partitioning and copying make.
//
// Covers: src/plan/place/ cost_graph.cc placement_costs.cc src/plan/partition/ grow_regions.cc
#include "plan/place/cost_graph.h"

#include <gtest/gtest.h>

#include "plan/partition/elide_copies.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "plan/place/place_by_cost.h"
#include "tests/support/random_graph.h"

namespace intarsia {
namespace {

/// Makes costs of 1000 per launch and 1 per copy, so that a cost shows how many there are.
MeasuredCosts counting_costs(std::mt19937& random, size_t nodes) {
  MeasuredCosts measured{.targets = {{0, 1000}, {1, 1000}, {static_cast<uint32_t>(random() % 3), 1000}},
                         .links = std::vector(3, std::vector<Link>(3, {1, 0}))};
  for (size_t i = 0; i < nodes; ++i) {
    std::vector<int64_t>& times = measured.times.emplace_back();
    for (size_t t = 0; t < 3; ++t) times.push_back(static_cast<int64_t>(random() % 3000));
    if (random() % 5 == 0) times[random() % 3] = never;
  }
  return measured;
}

void expect_counts(const Graph& graph, const MeasuredCosts& measured, const Placement& placement,
                   const PlacementCost& cost) {
  std::vector<uint32_t> space_of_target;
  for (const CostedTarget& target : measured.targets) space_of_target.push_back(target.space);
  const Partition partition = partition_graph(graph, placement);
  const StepList steps = elide_copies(insert_copies(graph, partition, space_of_target));
  ASSERT_EQ(cost.launches, 1000 * static_cast<int64_t>(partition.regions.size()));
  ASSERT_EQ(cost.copies, std::ranges::count(steps, Step::Kind::copy, &Step::kind));
}

TEST(CostGraph, CountsTheRegionsAndCopiesThatAreMade) {
  for_each_seed(1000, [](std::mt19937& random) {
    const Graph graph = make_random_graph(random, random_options(random, 20));
    const MeasuredCosts measured = counting_costs(random, graph.nodes.size());
    const PlacementCosts costs = cost_graph(graph, {}, measured).costs;
    std::vector<uint32_t> target_of;
    for (size_t i = 0; i < graph.nodes.size(); ++i) target_of.push_back(random() % 3);
    expect_counts(graph, measured, Placement(target_of), cost_of(costs, target_of));
    const CheapestPlacement placed =
        place_by_cost(costs, {.atoms_cut = 300, .atoms_partitioned = 2'000, .search = false});
    expect_counts(graph, measured, Placement(placed.target), placed.cost);
  });
}

/// Checks x -> a -> b -> c, where c also reads a: first all apart, then b and c in one group.
TEST(CostGraph, GroupsAreAtoms) {
  Graph graph;
  const auto type = [](SymbolicShape shape) { return ValueType{DType::f32, shape, false, {}}; };
  const ValueId x = graph.add_value("x", type({Dim(2), Dim(3)}));
  const ValueId w = graph.add_constant("w", Tensor(DType::f32, {2}));
  const ValueId a = graph.add_value("a", type({Dim(4)})), b = graph.add_value("b", type({Dim::unknown()}));
  const ValueId c = graph.add_value("c", {DType::f32, std::nullopt, true, {}});
  graph.inputs = {x};
  graph.outputs = {c};
  graph.add_node({"a", "Foo", "", 1, {x, w}, {a}, {}, {}});
  graph.add_node({"b", "Foo", "", 1, {a}, {b}, {}, {}});
  graph.add_node({"c", "Foo", "", 1, {b, a}, {c}, {}, {}});
  MeasuredCosts measured{.times = {{1, 10}, {2, never}, {3, 30}}, .targets = {{0, 0}, {1, 0}}};
  measured.unknown_size = 100;

  const GraphCosts apart = cost_graph(graph, {}, measured);
  EXPECT_EQ(apart.costs.times, measured.times);
  ASSERT_EQ(apart.costs.values.size(), 4u) << "without the constant";
  EXPECT_EQ(apart.costs.values[0].bytes, 24);
  EXPECT_EQ(apart.costs.values[1].readers, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(apart.costs.values[2].bytes, 400);
  EXPECT_EQ(apart.costs.values[3].bytes, 0);
  EXPECT_TRUE(apart.costs.values[3].is_output);

  const GraphCosts grouped = cost_graph(graph, {0, 1, 1}, measured);
  EXPECT_EQ(grouped.atom_of, (std::vector<uint32_t>{0, 1, 1}));
  EXPECT_EQ(grouped.costs.times, (std::vector<std::vector<int64_t>>{{1, 10}, {5, never}}));
  ASSERT_EQ(grouped.costs.values.size(), 3u) << "without what b gives to c";
  EXPECT_EQ(grouped.costs.values[1].readers, std::vector<uint32_t>{1});
}

}  // namespace
}  // namespace intarsia
