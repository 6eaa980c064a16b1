// Splitting into stages, against all splits of small random graphs.
//
// Covers: src/plan/stages/ split_stages.cc stage_graph.cc stage_ideals.cc stage_orders.cc stage_problem.cc
// stage_counts.h
#include "plan/stages/split_stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "plan/stages/stage_graph.h"
#include "plan/stages/stage_ideals.h"
#include "plan/stages/stage_orders.h"

namespace intarsia::test {
namespace {

/// Makes a device that copies a byte in a unit of time, before or after it runs.
StageDevice accelerator(double memory = cannot_run) {
  return {.name = "acc",
          .memory = memory,
          .in = {.per_byte = 1},
          .out = {.per_byte = 1},
          .copies_while_running = false};
}

/// Makes a chain of nodes that take these times on the only kind of device.
StageProblem chain(const std::vector<double>& times, uint32_t devices, double transfer = 0) {
  StageProblem problem;
  problem.devices = {accelerator()};
  problem.teams = {{{0}, devices}};
  for (double time : times) problem.nodes.push_back({{time}, 1});
  for (uint32_t i = 0; i + 1 < times.size(); ++i) problem.values.push_back({i, {i + 1}, transfer});
  return problem;
}

std::vector<std::vector<uint32_t>> nodes_of(const StageSplit& split) {
  std::vector<std::vector<uint32_t>> nodes;
  for (const StageSplit::Stage& stage : split.stages) nodes.push_back(stage.nodes);
  return nodes;
}

TEST(SplitStages, AChainIsCutWhereItIsBalanced) {
  const StageSplit split = split_stages(chain({1, 2, 3, 4, 5}, 2));
  EXPECT_EQ(nodes_of(split), (std::vector<std::vector<uint32_t>>{{0, 1, 2}, {3, 4}}));
  EXPECT_EQ(split.max_load, 9);
  EXPECT_EQ(split.lower_bound, 9);
}

TEST(SplitStages, BothEndsPayForATransfer) {
  const StageSplit split = split_stages(chain({4, 4, 4}, 3, 1));
  EXPECT_EQ(split.max_load, 6) << "the middle one receives and sends";
  EXPECT_EQ(split_stages(chain({4, 4, 4}, 3, 5)).max_load, 12) << "not worth any";
}

TEST(SplitStages, AValueIsPaidForOnceWhateverItsConsumers) {
  StageProblem problem = chain({2, 2, 2}, 2);
  problem.values = {{0, {1, 2}, 1}};
  EXPECT_EQ(stage_load(problem, 0, {0}), 3);
  EXPECT_EQ(stage_load(problem, 0, {1, 2}), 5);
  EXPECT_EQ(stage_load(problem, 0, {0, 1}), 5);
}

TEST(SplitStages, CopiesAreMadeWhileOtherFramesRun) {
  StageDevice device = accelerator();
  EXPECT_EQ(device_load(device, 5, {1, 5}, {1, 5}), 15);
  device.copies_while_running = true;
  EXPECT_EQ(device_load(device, 5, {1, 5}, {1, 5}), 10);
  EXPECT_EQ(device_load(device, 12, {1, 5}, {1, 5}), 12);
}

TEST(SplitStages, InputsAndOutputsAreCopiedToo) {
  StageProblem problem = chain({2, 2}, 2, 1);
  problem.values.push_back({no_stage_node, {0}, 10});
  problem.values.push_back({1, {}, 20, true});
  EXPECT_EQ(stage_load(problem, 0, {0}), 13);
  EXPECT_EQ(stage_load(problem, 0, {1}), 23);
  EXPECT_EQ(stage_load(problem, 0, {0, 1}), 34);
}

TEST(SplitStages, RatesOfUnlikeReplicasAddUp) {
  StageProblem problem = chain({1, 3}, 1);
  problem.devices.push_back(problem.devices[0]);
  problem.nodes[0].time = {1, 2}, problem.nodes[1].time = {3, 3};
  problem.teams = {{{0, 1}}};
  EXPECT_NEAR(stage_load(problem, 0, {0, 1}), 20.0 / 9, 1e-9) << "4 and 5";
  EXPECT_NEAR(split_stages(problem).max_load, 20.0 / 9, 1e-9);
  EXPECT_LE(divided_load(problem), 20.0 / 9 + 1e-9);
  problem.nodes[0].time[1] = cannot_run;
  EXPECT_EQ(stage_load(problem, 0, {0, 1}), cannot_run) << "every replica runs all";
}

TEST(SplitStages, WhatMustBeTogetherIs) {
  StageProblem problem = chain({1, 1, 1, 1}, 4);
  problem.together = {{0, 2}};
  const StageSplit split = split_stages(problem);
  EXPECT_EQ(nodes_of(split), (std::vector<std::vector<uint32_t>>{{0, 1, 2}, {3}})) << "1 lies between";
}

TEST(SplitStages, MemoryIsALimit) {
  StageProblem problem = chain({1, 1, 8}, 2);
  EXPECT_EQ(split_stages(problem).max_load, 8);
  problem.devices[0].memory = 2;
  problem.nodes[0].bytes = 2;
  EXPECT_EQ(split_stages(problem).max_load, 9) << "the first two do not fit one device";
  problem.nodes[0].bytes = 3;
  EXPECT_TRUE(split_stages(problem).stages.empty());
}

TEST(SplitStages, NodesGoWhereTheyCan) {
  StageProblem problem = chain({1, 1, 1}, 2);
  problem.devices.push_back({.name = "cpu"});
  problem.teams.push_back({{1}});
  for (StageNode& node : problem.nodes) node.time.push_back(10);
  problem.nodes[1].time[0] = cannot_run;
  const StageSplit split = split_stages(problem);
  ASSERT_EQ(split.stages.size(), 3u);
  EXPECT_EQ(split.stages[1].team, 1u);
  EXPECT_EQ(split.max_load, 10);
}

TEST(SplitStages, WhatIsNoProblemIsAnError) {
  StageProblem cycle = chain({1, 1}, 2);
  cycle.values.push_back({1, {0}, 0});
  EXPECT_EQ(verify_stage_problem(cycle).error().message, "the nodes depend on each other in a cycle");
  StageProblem nowhere = chain({cannot_run}, 2);
  EXPECT_EQ(verify_stage_problem(nowhere).error().message, "node 0 can run on no kind of device");
  StageProblem outside = chain({1, 1}, 2);
  outside.values[0].consumers = {7};
  EXPECT_FALSE(verify_stage_problem(outside));
  StageProblem negative = chain({-1}, 2);
  EXPECT_FALSE(verify_stage_problem(negative));
}

StageLink random_link(std::mt19937& random) {
  if (random() % 3 == 0) return {};
  return {.latency = static_cast<double>(random() % 3), .per_byte = static_cast<double>(random() % 2)};
}

/// Makes a problem with two kinds of devices, in teams of one kind each, or all in teams of both.
StageProblem random_problem(std::mt19937& random) {
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  StageProblem problem;
  for (const char* name : {"acc", "gpu"})
    problem.devices.push_back({.name = name,
                               .in = random_link(random),
                               .out = random_link(random),
                               .copies_while_running = below(2) == 0});
  problem.teams = {{{0}, 1 + below(2)}, {{1}, 1 + below(2)}};
  if (below(3) == 0) problem.teams = {{{0, 1}}, {{1, 1}}, {{0}}};
  if (below(3) == 0) problem.devices[0].memory = 5;
  const uint32_t nodes = 2 + below(6);
  for (uint32_t i = 0; i < nodes; ++i) {
    const double fast = below(6), slow = fast * (1 + below(4));
    problem.nodes.push_back({{below(8) == 0 ? cannot_run : fast, slow}, static_cast<double>(below(4))});
    StageValue value{i, {}, static_cast<double>(below(4) == 0 ? 20 : below(3)), below(4) == 0};
    for (uint32_t reader = i + 1; reader < nodes; ++reader)
      if (below(3) == 0) value.consumers.push_back(reader);
    problem.values.push_back(value);
  }
  if (below(2) == 0) problem.values.push_back({no_stage_node, {below(nodes)}, 3});
  if (below(3) == 0) problem.together = {{below(nodes), below(nodes)}};
  return problem;
}

/// Lists the teams, each as often as its count says.
std::vector<uint32_t> list_all_teams(const StageProblem& problem) {
  std::vector<uint32_t> all;
  for (uint32_t team = 0; team < problem.teams.size(); ++team)
    all.insert(all.end(), problem.teams[team].count, team);
  return all;
}

/// Checks that values flow between the stages without a cycle.
bool flows_forward(const StageProblem& problem, const std::vector<uint32_t>& stage, size_t stages) {
  StageProblem quotient;
  quotient.nodes.resize(stages);
  for (const StageValue& value : problem.values) {
    if (value.producer == no_stage_node) continue;
    for (uint32_t consumer : value.consumers)
      if (stage[consumer] != stage[value.producer])
        quotient.values.push_back({stage[value.producer], {stage[consumer]}});
  }
  return order_nodes(quotient).has_value();
}

/// Returns the least load over all assignments of nodes to teams.
double least_load(const StageProblem& problem) {
  const std::vector<uint32_t> teams = list_all_teams(problem);
  std::vector<uint32_t> stage(problem.nodes.size());
  double least = cannot_run;
  while (true) {
    const bool is_together = std::ranges::all_of(problem.together, [&](const auto& group) {
      return std::ranges::all_of(group, [&](uint32_t node) { return stage[node] == stage[group[0]]; });
    });
    if (is_together && flows_forward(problem, stage, teams.size())) {
      double most = 0;
      for (uint32_t s = 0; s < teams.size(); ++s) {
        std::vector<uint32_t> nodes;
        for (uint32_t node = 0; node < stage.size(); ++node)
          if (stage[node] == s) nodes.push_back(node);
        if (!nodes.empty()) most = std::max(most, stage_load(problem, teams[s], nodes));
      }
      least = std::min(least, most);
    }
    size_t digit = 0;
    while (digit < stage.size() && ++stage[digit] == teams.size()) stage[digit++] = 0;
    if (digit == stage.size()) return least;
  }
}

void expect_valid(const StageProblem& problem, const StageSplit& split) {
  std::vector<uint32_t> device(problem.nodes.size(), ~0U), used(problem.teams.size());
  for (uint32_t i = 0; i < split.stages.size(); ++i) {
    ++used[split.stages[i].team];
    for (uint32_t node : split.stages[i].nodes) {
      EXPECT_EQ(device[node], ~0U) << "in two stages";
      device[node] = i;
    }
    EXPECT_NEAR(split.stages[i].load, stage_load(problem, split.stages[i].team, split.stages[i].nodes), 1e-9);
    EXPECT_LE(split.stages[i].load, split.max_load + 1e-9);
  }
  for (uint32_t d : device) EXPECT_NE(d, ~0U);
  for (uint32_t team = 0; team < used.size(); ++team) EXPECT_LE(used[team], problem.teams[team].count);
  for (const StageValue& value : problem.values) {
    if (value.producer == no_stage_node) continue;
    for (uint32_t consumer : value.consumers) EXPECT_LE(device[value.producer], device[consumer]);
  }
  for (const auto& group : problem.together)
    for (uint32_t node : group) EXPECT_EQ(device[node], device[group[0]]);
}

TEST(SplitStages, AsGoodAsTheBestOfAllSplits) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const StageProblem problem = random_problem(random);
    ASSERT_TRUE(verify_stage_problem(problem));
    const double least = least_load(problem);
    const StageSplit split = split_stages(problem);
    ASSERT_EQ(split.stages.empty(), least == cannot_run);
    if (split.stages.empty()) continue;
    EXPECT_NEAR(split.max_load, least, 1e-9);
    EXPECT_LE(split.lower_bound, least + 1e-9);
    EXPECT_LE(divided_load(problem), least + 1e-9);
    expect_valid(problem, split);
  }
}

/// Checks the search over orders alone, which remains, with the bound, where the exact search gives up.
TEST(SplitStages, OrdersAloneComeClose) {
  double found = 0, best = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    StageProblem problem = random_problem(random);
    problem.together.clear();
    const double least = least_load(problem);
    const StageSplit split = search_orders(problem, OrderSearch::thorough);
    ASSERT_EQ(split.stages.empty(), least == cannot_run) << seed;
    if (split.stages.empty()) continue;
    ASSERT_GE(split.max_load, least - 1e-9) << seed;
    found += split.max_load, best += least;
  }
  EXPECT_LE(found, 1.02 * best);
}

TEST(SplitStages, EnumerationHasALimit) {
  StageProblem wide;
  wide.devices = {{.name = "acc"}};
  wide.teams = {{{0}, 2}};
  for (int i = 0; i < 30; ++i) wide.nodes.push_back({{1.0 + i}, 0});
  EXPECT_FALSE(split_ideals(wide, cannot_run, {.ideals = 1000, .stages = 1000}));
  const StageSplit split = split_stages(wide);
  EXPECT_GE(split.max_load, 232.5);
  EXPECT_LE(split.max_load, 234);
  EXPECT_GE(split.lower_bound, 232.4);
}

}  // namespace
}  // namespace intarsia::test
