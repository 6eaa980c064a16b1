// Placing for executors that work side by side: hand-made problems, and random ones against every possible
// placement.
//
// Covers: src/plan/ schedule_placement.cc
#include "plan/schedule_placement.h"

#include <gtest/gtest.h>

#include "tests/support/random_costs.h"

namespace intarsia {
namespace {

using Targets = std::vector<uint32_t>;

/// x -> a -> b and x -> c -> d, both -> e, on two equal executors with one link between their memories. All
/// values have 100 bytes.
PlacementCosts two_branches(double nanoseconds_per_byte) {
  PlacementCosts costs;
  costs.targets = {{0, 0}, {1, 0}};
  const Link link{0, nanoseconds_per_byte};
  costs.links = {{{}, link}, {link, {}}};
  costs.times = {{100, 100}, {100, 100}, {100, 100}, {100, 100}, {10, 10}};
  costs.values = {{no_atom, {0, 2}, 100}, {0, {1}, 100}, {1, {4}, 100},
                  {2, {3}, 100},          {3, {4}, 100}, {4, {}, 100, true}};
  return costs;
}

TEST(SchedulePlacement, BranchesGoToTwoExecutors) {
  const ScheduledPlacement placed = schedule_placement(two_branches(0.1), {0, 1});
  EXPECT_EQ(placed.length, 10 + 100 + 100 + 10 + 10);  // a copy of x, c, d, a copy, e
  EXPECT_EQ(placed.target[0], placed.target[1]);
  EXPECT_EQ(placed.target[2], placed.target[3]);
  EXPECT_NE(placed.target[0], placed.target[2]);
}

TEST(SchedulePlacement, NotWhereCopiesTakeLonger) {
  // Side by side 2 copies and 210 ns, in turn 410 ns: equal at 1 ns a byte.
  EXPECT_EQ(schedule_placement(two_branches(0.99), {0, 1}).length, 408);
  EXPECT_EQ(schedule_placement(two_branches(1.01), {0, 1}).length, 410);
  EXPECT_EQ(schedule_placement(two_branches(1.01), {0, 1}).target, (Targets{0, 0, 0, 0, 0}));
}

TEST(SchedulePlacement, TargetsOfOneExecutorWorkInTurn) {
  EXPECT_EQ(schedule_placement(two_branches(0.1), {0, 0}).length, 410);
}

TEST(SchedulePlacement, LaunchesCount) {
  PlacementCosts costs = two_branches(0);
  costs.targets = {{0, 20}, {1, 30}};
  // a and b, 20 ns for their launch; c and d with 30; e reads from both, so it is launched.
  EXPECT_EQ(schedule_length(costs, {0, 1}, {0, 0, 1, 1, 0}), 30 + 200 + 20 + 10);
  EXPECT_EQ(schedule_length(costs, {0, 1}, {0, 0, 0, 0, 0}), 2 * 20 + 410) << "both branches read x";
}

TEST(SchedulePlacement, WhatCannotRunTakesForEver) {
  PlacementCosts costs = two_branches(0.1);
  costs.times[2] = {never, 100};
  EXPECT_EQ(schedule_length(costs, {0, 1}, {0, 0, 0, 0, 0}), never);
  EXPECT_EQ(schedule_placement(costs, {0, 1}).target[2], 1u);
  costs.times[2] = {never, never};
  EXPECT_EQ(schedule_placement(costs, {0, 1}).length, never);
}

int64_t shortest(const PlacementCosts& costs, const std::vector<uint32_t>& executor_of) {
  int64_t best = never;
  const auto atoms = static_cast<uint32_t>(costs.times.size());
  for (uint32_t code = 0; code < 1u << atoms; ++code) {
    Targets targets;
    for (uint32_t atom = 0; atom < atoms; ++atom) targets.push_back(code >> atom & 1);
    best = std::min(best, schedule_length(costs, executor_of, targets));
  }
  return best;
}

TEST(SchedulePlacement, RandomProblemsAgainstAllPlacements) {
  constexpr int problems = 400;
  int equal = 0;
  for (uint32_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const PlacementCosts costs = make_random_costs(random, {.max_atoms = 9, .targets = 2, .max_launch = 10});
    const int64_t optimum = shortest(costs, {0, 1});
    const ScheduledPlacement placed = schedule_placement(costs, {0, 1});
    ASSERT_EQ(placed.length, schedule_length(costs, {0, 1}, placed.target));
    ASSERT_GE(placed.length, optimum);
    if (optimum != never) ASSERT_LE(static_cast<double>(placed.length), 1.5 * static_cast<double>(optimum));
    equal += placed.length == optimum;
  }
  EXPECT_GE(equal, problems * 17 / 20);
}

}  // namespace
}  // namespace intarsia
