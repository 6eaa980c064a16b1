#include "plan/place_by_cost.h"

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "plan/canonical_order.h"
#include "plan/choose_between.h"
#include "plan/refine_placement.h"

namespace intarsia {
namespace {

using Targets = std::vector<uint32_t>;  // by atom

/// How many atoms are looked at, all in all, by cuts, and by trials of local search.
constexpr size_t cut_effort = 1'000'000, trial_effort = 4'000'000;

/// Entries into another target cost this part of a launch: none, half of it (a region that is entered has
/// often two entries), and all (in a chain it has one).
constexpr std::array launch_shares = {1.0, 0.0, 0.5};

class CostPlacer {
 public:
  explicit CostPlacer(const PlacementCosts& costs)
      : costs_(costs),
        tools_{costs},
        cuts_left_(2 + cut_effort / (1 + costs.times.size())),
        trials_(16 + trial_effort / (1 + costs.times.size())) {}

  Targets run() {
    for (uint32_t t = 0; t < costs_.targets.size(); ++t) consider(everything_on(t));
    for (double share : launch_shares) {
      if (cuts_left_ > 0) start_with_share(share);
    }
    for (size_t i = 0; i < starts_.size(); ++i) consider(refine_placement(tools_, starts_[i], trials_));
    return best_;
  }

 private:
  /// Atoms that cannot run there stay on the one that is fastest for them.
  Targets everything_on(uint32_t target) const {
    Targets result = fastest_for_each();
    for (size_t atom = 0; atom < result.size(); ++atom) {
      if (costs_.times[atom][target] < too_long) result[atom] = target;
    }
    return result;
  }

  Targets fastest_for_each() const {
    Targets result;
    for (const std::vector<int64_t>& times : costs_.times)
      result.push_back(static_cast<uint32_t>(std::ranges::min_element(times) - times.begin()));
    return result;
  }

  void consider(Targets placement) {
    const int64_t total = cost_of(costs_, placement).total();
    if (!best_.empty() && total >= best_total_) return;
    best_ = std::move(placement);
    best_total_ = total;
  }

  void add_start(Targets start) {
    if (std::ranges::find(starts_, start) == starts_.end()) starts_.push_back(std::move(start));
  }

  void start_with_share(double share) {
    crossing_.clear();
    for (const CostedTarget& target : costs_.targets)
      crossing_.push_back(std::llround(static_cast<double>(target.launch) * share));
    if (!crossings_.insert(crossing_).second) return;  // launches cost nothing
    if (costs_.targets.size() == 2) return add_start(choose(everything_on_all(1), everything_on_all(0)));
    add_start(improve_by_cuts(fastest_for_each()));
    for (uint32_t t = 0; t < costs_.targets.size(); ++t) add_start(improve_by_cuts(everything_on(t)));
  }

  Targets everything_on_all(uint32_t target) const { return Targets(costs_.times.size(), target); }

  Targets choose(const Targets& first, const Targets& second) {
    --cuts_left_;
    return choose_between(costs_, first, second, crossing_);
  }

  /// What cuts minimize.
  CostSum cut_cost(const Targets& placement) const {
    CostSum sum = PlacementState(costs_, tools_.values_of, placement).cost();
    std::vector<uint32_t> entered(costs_.targets.size(), no_atom);  // by the value (number) that did so last
    for (uint32_t v = 0; v < costs_.values.size(); ++v) {
      const CostedValue& value = costs_.values[v];
      if (value.producer == no_atom) continue;
      entered[placement[value.producer]] = v;
      for (uint32_t reader : value.readers) {
        if (std::exchange(entered[placement[reader]], v) != v) sum.add(crossing_[placement[reader]]);
      }
    }
    return sum;
  }

  /// Expansions of every target (atoms stay or go there), then swaps of every two, until none helps.
  Targets improve_by_cuts(Targets placement) {
    const uint32_t targets = static_cast<uint32_t>(costs_.targets.size());
    CostSum cost = cut_cost(placement);
    for (bool is_better = true; is_better;) {
      is_better = false;
      const auto take = [&](const Targets& first, const Targets& second) {
        if (cuts_left_ == 0) return;
        Targets chosen = choose(first, second);
        const CostSum now = cut_cost(chosen);
        if (!(now < cost)) return;
        placement = std::move(chosen);
        cost = now;
        is_better = true;
      };
      for (uint32_t t = 0; t < targets; ++t) take(expand(placement, t), placement);
      for (uint32_t a = 0; a < targets; ++a) {
        for (uint32_t b = a + 1; b < targets; ++b) take(replace(placement, a, b), replace(placement, b, a));
      }
    }
    return placement;
  }

  Targets expand(Targets placement, uint32_t target) const {
    for (size_t atom = 0; atom < placement.size(); ++atom) {
      if (costs_.times[atom][target] < too_long) placement[atom] = target;
    }
    return placement;
  }

  /// Where that is possible.
  Targets replace(Targets placement, uint32_t from, uint32_t to) const {
    for (size_t atom = 0; atom < placement.size(); ++atom) {
      if (placement[atom] == from && costs_.times[atom][to] < too_long) placement[atom] = to;
    }
    return placement;
  }

  const PlacementCosts& costs_;
  const RefinementTools tools_;
  size_t cuts_left_;
  const size_t trials_;
  std::vector<int64_t> crossing_;             // by target, what cuts count for an entry
  std::set<std::vector<int64_t>> crossings_;  // all so far
  std::vector<Targets> starts_;
  Targets best_;
  int64_t best_total_ = never;
};

}  // namespace

CheapestPlacement place_by_cost(const PlacementCosts& costs) {
  const std::vector<uint32_t> order = canonical_order(costs);
  const PlacementCosts renumbered = renumber_atoms(costs, order);
  const Targets chosen = CostPlacer(renumbered).run();
  CheapestPlacement result{Targets(order.size()), {}};
  for (size_t i = 0; i < order.size(); ++i) result.target[order[i]] = chosen[i];
  result.cost = cost_of(costs, result.target);
  return result;
}

}  // namespace intarsia
