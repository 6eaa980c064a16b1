#include "plan/place/refine_placement.h"

#include <span>

#include "plan/partition/grow_regions.h"

namespace intarsia {
namespace {

/// Number of partitions that take about as long as finding moves.
constexpr int64_t trials_of_finding = 5;
/// Number of moves, the most promising ones, that pairs are made of.
constexpr size_t most_paired = 200;

class PlacementRefiner {
 public:
  PlacementRefiner(const RefinementTools& tools, std::vector<uint32_t> target_of, int64_t& trials)
      : tools_(tools), state_(tools.costs, tools.values_of, std::move(target_of)), trials_(trials) {}

  std::vector<uint32_t> run(bool pairs) {
    best_ = measure();
    while (trials_ > 0 && improve(pairs)) {
    }
    return state_.target_of();
  }

 private:
  using Moves = std::span<const RegionMove* const>;

  bool improve(bool pairs) {
    trials_ -= trials_of_finding;
    placed_ = state_.target_of();
    const std::vector<Region> regions = grow_regions(tools_.next, placed_);
    const std::vector<RegionMove> moves = find_region_moves(tools_, regions, state_);
    return try_together(moves, regions.size()) || try_alone(moves) || (pairs && try_pairs(moves));
  }

  /// Tries all moves that promise something, then the more promising half of them, and so on.
  bool try_together(const std::vector<RegionMove>& moves, size_t regions) {
    std::vector<bool> touched(regions, false);
    std::vector<const RegionMove*> chosen;
    for (const RegionMove& move : moves) {
      const auto is_touched = [&](uint32_t region) { return touched[region]; };
      if (move.gain <= 0 || touched[move.region] || std::ranges::any_of(move.adjacent, is_touched)) continue;
      touched[move.region] = true;
      for (uint32_t region : move.adjacent) touched[region] = true;
      chosen.push_back(&move);
    }
    for (; chosen.size() > 1; chosen.resize(chosen.size() / 2)) {
      if (is_better(chosen)) return true;
    }
    return false;
  }

  bool try_alone(const std::vector<RegionMove>& moves) {
    return std::ranges::any_of(
        moves, [&](const RegionMove& move) { return move.most > 0 && is_better(std::array{&move}); });
  }

  bool try_pairs(const std::vector<RegionMove>& moves) {
    for (size_t a = 0; a < std::min(moves.size(), most_paired); ++a) {
      for (size_t b = 0; b < a; ++b) {
        if (is_better(std::array{&moves[a], &moves[b]})) return true;
      }
    }
    return false;
  }

  /// Checks whether the moves make it better, and keeps them if so.
  bool is_better(Moves moves) {
    if (trials_ <= 0) return false;
    for (const RegionMove* move : moves) {
      for (uint32_t atom : move->atoms) state_.move(atom, move->target);
    }
    if (state_.cost() < best_) {  // cost without launches
      const CostSum cost = measure();
      if (cost < best_) {
        best_ = cost;
        return true;
      }
    }
    for (const RegionMove* move : moves) {
      for (uint32_t atom : move->atoms) state_.move(atom, placed_[atom]);
    }
    return false;
  }

  CostSum measure() {
    --trials_;
    CostSum cost = state_.cost();
    cost.nanoseconds += launch_time(tools_.costs, tools_.next, state_.target_of());
    return cost;
  }

  const RefinementTools& tools_;
  PlacementState state_;
  int64_t& trials_;
  std::vector<uint32_t> placed_;  // placement without the moves that are being tried
  CostSum best_;
};

}  // namespace

std::vector<uint32_t> refine_placement(const RefinementTools& tools, std::vector<uint32_t> target_of,
                                       bool pairs, int64_t& trials) {
  return PlacementRefiner(tools, std::move(target_of), trials).run(pairs);
}

}  // namespace intarsia
