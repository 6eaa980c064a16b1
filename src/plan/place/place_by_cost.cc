#include "plan/place/place_by_cost.h"

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "plan/place/canonical_order.h"
#include "plan/place/choose_between.h"
#include "plan/place/place_chain.h"
#include "plan/place/refine_placement.h"
#include "plan/place/search_placements.h"

namespace intarsia {
namespace {

using Targets = std::vector<uint32_t>;  // indexed by atom

/// Shares of a launch that an entry into another target costs in cuts: all (in a chain a region has one
/// entry), none, and half (a region often has several).
constexpr std::array launch_shares = {1.0, 0.0, 0.5};

class CostPlacer {
 public:
  CostPlacer(const PlacementCosts& costs, const PlacementEffort& effort)
      : costs_(costs),
        tools_{costs},
        search_(effort.search),
        cuts_left_(2 + effort.atoms_cut / (1 + costs.times.size())),
        trials_left_(
            static_cast<int64_t>(effort.atoms_partitioned / (1 + costs.times.size() + costs.values.size()))) {
  }

  Targets run() {
    for (uint32_t t = 0; t < costs_.targets.size(); ++t) consider(everything_on(t));
    for (double share : launch_shares) {
      if (cuts_left_ > 0) start_with_share(share);
    }
    for (const auto& [total, start] : starts_) consider(refine_placement(tools_, start, false, trials_left_));
    best_ = refine_placement(tools_, best_, true, trials_left_);
    return search_ ? search_placements(tools_, best_) : best_;
  }

 private:
  /// Returns everything on the target; atoms that cannot run there are on the one that is fastest for them.
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
    const int64_t total = cost_of(costs_, start).total();
    starts_.emplace(total, std::move(start));
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

  /// Returns the cost that cuts minimize.
  CostSum cut_cost(const Targets& placement) const {
    CostSum sum = PlacementState(costs_, tools_.values_of, placement).cost();
    std::vector<uint32_t> entered(costs_.targets.size(), no_atom);  // number of the value that did so last
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

  /// Expands every target (atoms stay or go there), then swaps every two, until neither helps.
  Targets improve_by_cuts(Targets placement) {
    CostSum cost = cut_cost(placement);
    const std::vector<std::pair<uint32_t, uint32_t>> moves = list_cut_moves();
    size_t vain = 0;  // moves since the last that helped
    for (size_t i = 0; vain < moves.size() && cuts_left_ > 0; i = (i + 1) % moves.size(), ++vain) {
      const auto [a, b] = moves[i];
      Targets chosen = a == b ? choose(expand(placement, a), placement)
                              : choose(replace(placement, a, b), replace(placement, b, a));
      const CostSum now = cut_cost(chosen);
      if (!(now < cost)) continue;
      placement = std::move(chosen);
      cost = now;
      vain = 0;
    }
    return placement;
  }

  /// Lists pairs of targets; a target with itself stands for its expansion.
  std::vector<std::pair<uint32_t, uint32_t>> list_cut_moves() const {
    std::vector<std::pair<uint32_t, uint32_t>> moves;
    const uint32_t targets = static_cast<uint32_t>(costs_.targets.size());
    for (uint32_t t = 0; t < targets; ++t) moves.emplace_back(t, t);
    for (uint32_t a = 0; a < targets; ++a) {
      for (uint32_t b = a + 1; b < targets; ++b) moves.emplace_back(a, b);
    }
    return moves;
  }

  Targets expand(Targets placement, uint32_t target) const {
    for (size_t atom = 0; atom < placement.size(); ++atom) {
      if (costs_.times[atom][target] < too_long) placement[atom] = target;
    }
    return placement;
  }

  /// Moves atoms from one target to the other where that is possible.
  Targets replace(Targets placement, uint32_t from, uint32_t to) const {
    for (size_t atom = 0; atom < placement.size(); ++atom) {
      if (placement[atom] == from && costs_.times[atom][to] < too_long) placement[atom] = to;
    }
    return placement;
  }

  const PlacementCosts& costs_;
  const RefinementTools tools_;
  const bool search_;
  size_t cuts_left_;
  int64_t trials_left_;
  std::vector<int64_t> crossing_;                 // cost of an entry in cuts, by target
  std::set<std::vector<int64_t>> crossings_;      // costs of entries so far
  std::set<std::pair<int64_t, Targets>> starts_;  // sorted by total
  Targets best_;
  int64_t best_total_ = never;
};

}  // namespace

CheapestPlacement place_by_cost(const PlacementCosts& costs, const PlacementEffort& effort) {
  const std::vector<uint32_t> order = canonical_order(costs);
  const PlacementCosts renumbered = renumber_atoms(costs, order);
  std::optional<Targets> chosen = place_chain(renumbered);
  if (!chosen) chosen = CostPlacer(renumbered, effort).run();
  CheapestPlacement result{Targets(order.size()), {}};
  for (size_t i = 0; i < order.size(); ++i) result.target[order[i]] = (*chosen)[i];
  result.cost = cost_of(costs, result.target);
  return result;
}

}  // namespace intarsia
