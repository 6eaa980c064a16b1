// Placing for executors that work side by side: hand-made problems, and random ones against every possible
// placement.
//
// Covers: src/plan/place/ schedule_placement.cc
#include "plan/place/schedule_placement.h"

#include <gtest/gtest.h>

#include "tests/support/random_costs.h"

namespace intarsia {
namespace {

using Targets = std::vector<uint32_t>;

/// Executors: one for each target, and a link for each device's memory.
const Executors side_by_side{{0, 1}, {0, 1, 2}};

/// Makes x -> a -> b and x -> c -> d, both -> e, on two equal executors with one link between their memories.
/// All values have 100 bytes.
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
  const ScheduledPlacement placed = schedule_placement(two_branches(0.1), side_by_side);
  EXPECT_EQ(placed.length, 10 + 100 + 100 + 10 + 10);  // a copy of x, c, d, a copy, e
  EXPECT_EQ(placed.target[0], placed.target[1]);
  EXPECT_EQ(placed.target[2], placed.target[3]);
  EXPECT_NE(placed.target[0], placed.target[2]);
}

TEST(SchedulePlacement, NotWhereCopiesTakeLonger) {
  // Branches take 2 copies and 210 ns side by side, 410 ns in turn: equal at 1 ns per byte.
  EXPECT_EQ(schedule_placement(two_branches(0.99), side_by_side).length, 408);
  EXPECT_EQ(schedule_placement(two_branches(1.01), side_by_side).length, 410);
  EXPECT_EQ(schedule_placement(two_branches(1.01), side_by_side).target, (Targets{0, 0, 0, 0, 0}));
}

TEST(SchedulePlacement, TargetsOfOneExecutorWorkInTurn) {
  EXPECT_EQ(schedule_placement(two_branches(0.1), {{0, 0}, {0, 1}}).length, 410);
}

TEST(SchedulePlacement, LaunchesCount) {
  PlacementCosts costs = two_branches(0);
  costs.targets = {{0, 20}, {1, 30}};
  // Launches: 20 ns for a and b; 30 ns for c and d; 20 ns for e, which reads from both.
  EXPECT_EQ(schedule_length(costs, side_by_side, {0, 0, 1, 1, 0}), 30 + 200 + 20 + 10);
  EXPECT_EQ(schedule_length(costs, side_by_side, {0, 0, 0, 0, 0}), 2 * 20 + 410) << "both branches read x";
}

TEST(SchedulePlacement, WhatCannotRunTakesForEver) {
  PlacementCosts costs = two_branches(0.1);
  costs.times[2] = {never, 100};
  EXPECT_EQ(schedule_length(costs, side_by_side, {0, 0, 0, 0, 0}), never);
  EXPECT_EQ(schedule_placement(costs, side_by_side).target[2], 1u);
  costs.times[2] = {never, never};
  EXPECT_EQ(schedule_placement(costs, side_by_side).length, never);
}

TEST(SchedulePlacement, ALinkMakesOneCopyAtATime) {
  PlacementCosts costs = two_branches(0.5);
  costs.times = {{1000, 100}, {1000, 100}, {1000, 100}, {1000, 100}, {10, 1000}};
  // Copies: x once; both results in turn, where the second waits for nothing else.
  EXPECT_EQ(schedule_length(costs, side_by_side, {1, 1, 1, 1, 0}), 50 + 400 + 50 + 10);
  costs.values[2].bytes = costs.values[4].bytes = 600;
  EXPECT_EQ(schedule_length(costs, side_by_side, {1, 1, 1, 1, 0}), 50 + 300 + 300 + 300 + 10)
      << "the first is done after three of the four, in turns";
}

int64_t shortest(const PlacementCosts& costs) {
  int64_t best = never;
  const auto atoms = static_cast<uint32_t>(costs.times.size());
  for (uint32_t code = 0; code < 1u << atoms; ++code) {
    Targets targets;
    for (uint32_t atom = 0; atom < atoms; ++atom) targets.push_back(code >> atom & 1);
    best = std::min(best, schedule_length(costs, side_by_side, targets));
  }
  return best;
}

/// Compares with all placements, with the atoms in the order in which they are first scheduled; another order
/// may give a shorter schedule.
TEST(SchedulePlacement, RandomProblemsAgainstAllPlacements) {
  constexpr int problems = 400;
  int good = 0;
  for (uint32_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const PlacementCosts costs = make_random_costs(random, {.max_atoms = 9, .targets = 2, .max_launch = 10});
    const int64_t optimum = shortest(costs);
    const ScheduledPlacement placed = schedule_placement(costs, side_by_side);
    ASSERT_EQ(placed.length, schedule_length(costs, side_by_side, placed.target, placed.rank));
    ASSERT_EQ(placed.length == never, optimum == never);
    if (optimum != never) {
      ASSERT_LE(static_cast<double>(placed.length), 1.1 * static_cast<double>(optimum));
    }
    good += placed.length <= optimum;
  }
  EXPECT_GE(good, problems * 95 / 100);
}

}  // namespace
}  // namespace intarsia
