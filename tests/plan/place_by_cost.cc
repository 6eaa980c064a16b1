// Placing by cost: the points where hand-made problems flip, and random problems against every possible
// placement.
//
// Covers: src/plan/place/ canonical_order.cc choose_between.cc minimum_cut.cc place_by_cost.cc
// place_chain.cc placement_costs.cc placement_state.cc refine_placement.cc region_moves.cc
// search_placements.cc
#include "plan/place/place_by_cost.h"

#include <gtest/gtest.h>

#include "plan/place/choose_between.h"
#include "plan/place/minimum_cut.h"
#include "plan/place/place_chain.h"
#include "tests/support/random_costs.h"

namespace intarsia {
namespace {

/// Makes costs of a host and an accelerator, with one link for both directions.
PlacementCosts two_targets(Link link) {
  PlacementCosts costs;
  costs.targets = {{0, 0}, {1, 0}};
  costs.links = {{{}, link}, {link, {}}};
  return costs;
}

using Targets = std::vector<uint32_t>;

/// Makes x -> a -> y, of 1000 bytes each; the host takes 1000 ns for a.
PlacementCosts one_atom(double nanoseconds_per_byte, int64_t accelerated) {
  PlacementCosts costs = two_targets({50, nanoseconds_per_byte});
  costs.times = {{1000, accelerated}};
  costs.values = {{no_atom, {0}, 1000}, {0, {}, 1000, true}};
  return costs;
}

TEST(PlaceByCost, FlipsAtTheSpeedOfTheLink) {
  // Copies take 2 * (50 ns + 1000 bytes); with 100 ns in between this is 1000 ns at 0.4 ns per byte.
  EXPECT_EQ(place_by_cost(one_atom(0.399, 100)).target, Targets{1});
  EXPECT_EQ(place_by_cost(one_atom(0.401, 100)).target, Targets{0});
  EXPECT_EQ(place_by_cost(one_atom(0.399, 100)).cost, (PlacementCost{100, 898, 0}));
}

TEST(PlaceByCost, FlipsAtTheSpeedOfTheDevice) {
  EXPECT_EQ(place_by_cost(one_atom(0.1, 699)).target, Targets{1});
  EXPECT_EQ(place_by_cost(one_atom(0.1, 700)).target, Targets{0}) << "of equal ones the first target";
  EXPECT_EQ(place_by_cost(one_atom(0.1, 701)).target, Targets{0});
}

TEST(PlaceByCost, FlipsAtTheCostOfALaunch) {
  PlacementCosts costs = one_atom(0.1, 500);
  costs.targets = {{0, 10}, {1, 209}};
  EXPECT_EQ(place_by_cost(costs).target, Targets{1});
  costs.targets[1].launch = 211;
  EXPECT_EQ(place_by_cost(costs).target, Targets{0});
}

/// Makes an atom whose value is read by three atoms; the accelerator runs these twice as fast.
PlacementCosts fan_out() {
  PlacementCosts costs = two_targets({0, 1});
  costs.times = {{10, never}, {200, 100}, {200, 100}, {200, 100}};
  costs.values = {{0, {1, 2, 3}, 250}};
  return costs;
}

TEST(PlaceByCost, ValueWithManyReadersIsCopiedOnce) {
  const CheapestPlacement there = place_by_cost(fan_out());
  EXPECT_EQ(there.target, (Targets{0, 1, 1, 1}));
  EXPECT_EQ(there.cost, (PlacementCost{310, 250, 0}));
  PlacementCosts costs = fan_out();
  costs.values[0].bytes = 301;
  EXPECT_EQ(place_by_cost(costs).target, (Targets{0, 0, 0, 0}));
  for (std::vector<int64_t>& times : costs.times) std::swap(times[0], times[1]);
  EXPECT_EQ(place_by_cost(costs).target, (Targets{1, 1, 1, 1})) << "nor does it pay the other way around";
  costs.values[0].bytes = 250;
  EXPECT_EQ(place_by_cost(costs).target, (Targets{1, 0, 0, 0}));
}

TEST(PlaceByCost, IslandsThatDoNotPayForTheirLaunchesAreDissolved) {
  PlacementCosts costs = two_targets({0, 0});
  costs.targets = {{0, 100}, {1, 100}};
  costs.times = {{10, 50}, {50, 10}, {10, 50}};
  costs.values = {{0, {1}, 4}, {1, {2}, 4}};
  const CheapestPlacement placed = place_by_cost(costs);
  EXPECT_EQ(placed.target, (Targets{0, 0, 0}));
  EXPECT_EQ(placed.cost, (PlacementCost{70, 0, 100}));
}

TEST(PlaceByCost, TargetsOfOneSpaceCopyNothing) {
  PlacementCosts costs;
  costs.targets = {{0, 5}, {0, 5}};
  costs.links = {{{}}};
  costs.times = {{10, 50}, {50, 10}};
  costs.values = {{0, {1}, 1'000'000}};
  EXPECT_EQ(place_by_cost(costs).cost, (PlacementCost{20, 0, 10}));
}

TEST(PlaceByCost, WithoutALinkTheProducerStays) {
  PlacementCosts costs = two_targets({});
  costs.times = {{10, 1}, {10, 1}};
  costs.values = {{no_atom, {0}, 4}, {0, {1}, 4}};
  EXPECT_EQ(place_by_cost(costs).target, (Targets{0, 0}));
  costs.times[1][0] = never;
  EXPECT_EQ(place_by_cost(costs).cost.total(), never);
}

TEST(PlaceByCost, NothingToPlace) { EXPECT_EQ(place_by_cost(two_targets({})).cost.total(), 0); }

/// Returns the cost of the cheapest split of a few vertices; with `is_given`, that of the split `only`.
int64_t cheapest_split(const std::vector<std::pair<int64_t, int64_t>>& vertices,
                       const std::vector<std::array<uint32_t, 3>>& edges, uint32_t only, bool is_given) {
  int64_t best = never;
  for (uint32_t first = 0; first < 1u << vertices.size(); ++first) {
    if (is_given && first != only) continue;
    int64_t sum = 0;
    for (size_t v = 0; v < vertices.size(); ++v)
      sum += (first >> v & 1) != 0 ? vertices[v].first : vertices[v].second;
    for (const auto& [a, b, cost] : edges) {
      if ((first >> a & 1) != 0 && (first >> b & 1) == 0) sum += cost;
    }
    best = std::min(best, sum);
  }
  return best;
}

TEST(MinimumCut, CheapestOfAllSplits) {
  for_each_seed(3000, [](std::mt19937& random) {
    const uint32_t count = 1 + random() % 8;
    MinimumCut cut;
    std::vector<std::pair<int64_t, int64_t>> vertices;
    std::vector<std::array<uint32_t, 3>> edges;
    for (uint32_t v = 0; v < count; ++v) {
      vertices.emplace_back(random() % 10, random() % 10);
      cut.add_cost(cut.add_vertex(), vertices[v].first, vertices[v].second);
    }
    for (uint32_t i = 0; i < count * 2; ++i) {
      const auto& [a, b, cost] = edges.emplace_back(std::array<uint32_t, 3>{
          static_cast<uint32_t>(random() % count), static_cast<uint32_t>(random() % count),
          static_cast<uint32_t>(random() % 10)});
      cut.add_cost_between(a, b, cost);
    }
    uint32_t split = 0;
    const std::vector<bool> is_first = cut.solve();
    for (uint32_t v = 0; v < count; ++v) split |= static_cast<uint32_t>(is_first[v]) << v;
    ASSERT_EQ(cheapest_split(vertices, edges, split, true), cheapest_split(vertices, edges, 0, false));
  });
}

/// Searches all placements for one cheaper than `bound`, leaving out those whose atoms alone cost more.
class EveryPlacement {
 public:
  explicit EveryPlacement(const PlacementCosts& costs) : costs_(costs), rest_(costs.times.size() + 1, 0) {
    for (size_t atom = costs.times.size(); atom-- > 0;)
      rest_[atom] = rest_[atom + 1] + std::ranges::min(costs.times[atom]);
  }

  int64_t cheapest(int64_t bound) {
    best_ = bound;
    placement_.assign(costs_.times.size(), 0);
    place(0, 0);
    return best_;
  }

 private:
  void place(size_t atom, int64_t so_far) {
    if (so_far + rest_[atom] >= best_) return;
    if (atom == placement_.size()) {
      best_ = std::min(best_, cost_of(costs_, placement_).total());
      return;
    }
    for (uint32_t target = 0; target < costs_.targets.size(); ++target) {
      if (costs_.times[atom][target] == never) continue;
      placement_[atom] = target;
      place(atom + 1, so_far + costs_.times[atom][target]);
    }
  }

  const PlacementCosts& costs_;
  std::vector<int64_t> rest_;  // least cost of the atoms from each one on
  Targets placement_;
  int64_t best_ = never;
};

/// Gaps between the placements of random problems and the cheapest of all placements.
struct Gaps {
  uint32_t problems = 0, missed = 0;
  double worst = 0;  // largest gap, as a fraction of the cheapest cost
};

Gaps compare_with_all(uint32_t seeds, const RandomCostsOptions& options, const PlacementEffort& effort = {}) {
  Gaps gaps;
  for_each_seed(seeds, [&](std::mt19937& random) {
    const PlacementCosts costs = make_random_costs(random, options);
    const int64_t found = place_by_cost(costs, effort).cost.total();
    const int64_t best = EveryPlacement(costs).cheapest(found);
    ++gaps.problems;
    gaps.missed += best < found;
    gaps.worst = std::max(gaps.worst, static_cast<double>(found - best) / static_cast<double>(best));
  });
  fmt::print("{} atoms, {} targets, launches up to {}: {} of {} not the cheapest, the worst by {:.1f}%\n",
             options.max_atoms, options.targets, options.max_launch, gaps.missed, gaps.problems,
             100 * gaps.worst);
  return gaps;
}

TEST(PlaceByCostProperties, CheapestOfAllPlacements) {
  EXPECT_EQ(compare_with_all(200, {.max_atoms = 14, .targets = 2}).missed, 0);
  EXPECT_EQ(compare_with_all(200, {.max_atoms = 14, .targets = 2, .max_launch = 60}).missed, 0);
  EXPECT_EQ(compare_with_all(30, {.max_atoms = 12, .targets = 3}).missed, 0);
  EXPECT_EQ(compare_with_all(30, {.max_atoms = 12, .targets = 3, .max_launch = 60}).missed, 0);
}

TEST(PlaceByCostProperties, CloseToTheCheapestWithoutSearchingAll) {
  const PlacementEffort effort{.search = false};
  EXPECT_EQ(compare_with_all(200, {.max_atoms = 14, .targets = 2}, effort).missed, 0) << "one exact cut";
  for (const RandomCostsOptions& options :
       {RandomCostsOptions{.max_atoms = 14, .targets = 2, .max_launch = 60},
        RandomCostsOptions{.max_atoms = 9, .targets = 3},
        RandomCostsOptions{.max_atoms = 9, .targets = 3, .max_launch = 60}}) {
    const Gaps gaps = compare_with_all(150, options, effort);
    EXPECT_LE(gaps.missed * 20, gaps.problems);
    EXPECT_LT(gaps.worst, 0.25);
  }
}

/// Checks atoms on two of three targets that choose anew between these; the others stay.
TEST(PlaceByCostProperties, SwapsOfTwoTargetsAreExact) {
  for_each_seed(500, [](std::mt19937& random) {
    PlacementCosts costs = make_random_costs(random, {.max_atoms = 12, .targets = 3});
    Targets first, second;
    for (std::vector<int64_t>& times : costs.times) {
      const uint32_t stays = random() % 4;  // 0: stays on its fastest target
      const bool can_swap = times[0] != never && times[1] != never && stays != 0;
      const uint32_t only = static_cast<uint32_t>(std::ranges::min_element(times) - times.begin());
      first.push_back(can_swap ? 0 : only);
      second.push_back(can_swap ? 1 : only);
      for (uint32_t t = 0; t < 3; ++t) {
        if (t != first.back() && t != second.back()) times[t] = never;
      }
    }
    const Targets chosen = choose_between(costs, first, second, {0, 0, 0});
    const int64_t cost = cost_of(costs, chosen).total();
    ASSERT_EQ(EveryPlacement(costs).cheapest(cost), cost);
  });
}

/// Makes x -> a0 -> a1 -> ...; some values are outputs of the graph, and some atoms cannot run on one target.
PlacementCosts make_random_chain(std::mt19937& random, const RandomCostsOptions& options) {
  PlacementCosts costs;
  add_random_devices(random, options, costs);
  costs.values.push_back({no_atom, {0}, 8});
  for (uint32_t atom = 0; atom < options.max_atoms; ++atom) {
    std::vector<int64_t>& times = costs.times.emplace_back();
    for (uint32_t t = 0; t < options.targets; ++t) times.push_back(1 + random() % 50);
    if (random() % 6 == 0) times[random() % options.targets] = never;
    costs.values.push_back({atom, {}, static_cast<int64_t>(random() % 40), random() % 8 == 0});
    if (atom + 1 < options.max_atoms) costs.values.back().readers.push_back(atom + 1);
  }
  return costs;
}

TEST(PlaceByCostProperties, ChainsAreAtTheirShortestPath) {
  for_each_seed(200, [](std::mt19937& random) {
    const PlacementCosts costs = make_random_chain(random, {.max_atoms = 8, .targets = 3, .max_launch = 60});
    const std::optional<Targets> placed = place_chain(costs);
    ASSERT_TRUE(placed);
    const int64_t total = cost_of(costs, *placed).total();
    ASSERT_EQ(EveryPlacement(costs).cheapest(total), total);
  });
}

/// Effort so small that ten thousand problems do not take long.
constexpr PlacementEffort little{.atoms_cut = 300, .atoms_partitioned = 2'000, .search = false};

TEST(PlaceByCostProperties, OrderOfAtomsDoesNotMatter) {
  for_each_seed(10000, [](std::mt19937& random) {
    const PlacementCosts costs = make_random_costs(
        random, {.max_atoms = 16, .targets = 2 + static_cast<uint32_t>(random() % 2), .max_launch = 60});
    const CheapestPlacement placed = place_by_cost(costs, little);
    ASSERT_EQ(place_by_cost(shuffle_atoms(costs, random), little).cost, placed.cost);
    ASSERT_EQ(cost_of(costs, placed.target), placed.cost);
  });
}

TEST(PlaceByCostProperties, PinsHoldAndNoSingleTargetIsCheaper) {
  for_each_seed(10000, [](std::mt19937& random) {
    const PlacementCosts costs = make_random_costs(
        random, {.max_atoms = 16, .targets = 1 + static_cast<uint32_t>(random() % 4), .max_launch = 60});
    const CheapestPlacement placed = place_by_cost(costs, little);
    ASSERT_LT(placed.cost.total(), never);
    for (size_t atom = 0; atom < placed.target.size(); ++atom)
      ASSERT_LT(costs.times[atom][placed.target[atom]], never);
    for (uint32_t t = 0; t < costs.targets.size(); ++t)
      ASSERT_LE(placed.cost.total(), cost_of(costs, Targets(placed.target.size(), t)).total());
  });
}

}  // namespace
}  // namespace intarsia
