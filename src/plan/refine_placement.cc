#include "plan/refine_placement.h"

#include <set>
#include <tuple>

#include "plan/grow_regions.h"

namespace intarsia {
namespace {

/// Atoms of one region.
struct Piece {
  uint32_t region = 0;
  std::vector<uint32_t> atoms;
};

struct Move {
  Piece piece;
  uint32_t target = 0;
  int64_t gain = 0;                // expected nanoseconds
  std::vector<uint32_t> adjacent;  // regions of the target that exchange values with the piece
};

class PlacementRefiner {
 public:
  PlacementRefiner(const RefinementTools& tools, std::vector<uint32_t> target_of, size_t trials)
      : costs_(tools.costs),
        next_(tools.next),
        previous_(tools.previous),
        state_(tools.costs, tools.values_of, std::move(target_of)),
        trials_(trials) {}

  std::vector<uint32_t> run() {
    best_ = measure();
    while (improve()) {
    }
    return state_.target_of();
  }

 private:
  CostSum measure() {
    if (trials_ > 0) --trials_;
    CostSum cost = state_.cost();
    cost.nanoseconds += launch_time(costs_, next_, state_.target_of());
    return cost;
  }

  bool improve() {
    if (trials_ == 0) return false;
    regions_ = grow_regions(next_, state_.target_of());
    region_of_ = number_nodes(regions_, next_.size());
    const std::vector<Move> moves = find_moves();
    return try_together(moves) || try_alone(moves);
  }

  /// Atoms of a region that edges within it connect.
  std::vector<Piece> find_components(uint32_t region) {
    std::vector<Piece> components;
    for (NodeId start : regions_[region].nodes) {
      if (seen_[index(start)]) continue;
      Piece piece{region, {static_cast<uint32_t>(start)}};
      seen_[index(start)] = true;
      for (size_t i = 0; i < piece.atoms.size(); ++i) {
        for (const Neighbors* edges : {&next_, &previous_}) {
          for (uint32_t other : (*edges)[piece.atoms[i]]) {
            if (seen_[other] || region_of_[other] != region) continue;
            seen_[other] = true;
            piece.atoms.push_back(other);
          }
        }
      }
      components.push_back(std::move(piece));
    }
    return components;
  }

  std::vector<Piece> find_pieces() {
    std::vector<Piece> pieces;
    seen_.assign(next_.size(), false);
    for (uint32_t region = 0; region < regions_.size(); ++region) {
      const std::vector<NodeId>& nodes = regions_[region].nodes;
      Piece whole{region, {}};
      for (NodeId atom : nodes) whole.atoms.push_back(static_cast<uint32_t>(atom));
      if (nodes.size() > 1) {
        for (uint32_t atom : whole.atoms) pieces.push_back({region, {atom}});
        std::vector<Piece> components = find_components(region);
        if (components.size() > 1) std::ranges::move(components, std::back_inserter(pieces));
      }
      pieces.push_back(std::move(whole));
    }
    return pieces;
  }

  /// Regions of other targets that exchange values with the piece, each once.
  std::vector<uint32_t> find_adjacent(const Piece& piece) const {
    std::vector<uint32_t> regions;
    for (uint32_t atom : piece.atoms) {
      for (const Neighbors* edges : {&next_, &previous_}) {
        for (uint32_t other : (*edges)[atom]) {
          if (region_of_[other] != piece.region) regions.push_back(region_of_[other]);
        }
      }
    }
    std::ranges::sort(regions);
    regions.erase(std::ranges::unique(regions).begin(), regions.end());
    return regions;
  }

  void apply(const Piece& piece, uint32_t target) {
    for (uint32_t atom : piece.atoms) state_.move(atom, target);
  }
  void undo(const Piece& piece) { apply(piece, regions_[piece.region].target); }

  /// What atoms and copies gain when the piece moves.
  CostSum gain_of_moving(const Piece& piece, uint32_t target) {
    const CostSum before = state_.cost();
    apply(piece, target);
    const CostSum after = state_.cost();
    undo(piece);
    return {before.impossible - after.impossible, before.nanoseconds - after.nanoseconds};
  }

  void add_move(const Piece& piece, uint32_t target, const std::vector<uint32_t>& adjacent,
                std::vector<Move>& moves) {
    const auto fits = [&](uint32_t atom) { return costs_.times[atom][target] < too_long; };
    if (!std::ranges::all_of(piece.atoms, fits)) return;
    const Region& region = regions_[piece.region];
    const int64_t own_launch = costs_.targets[region.target].launch, launch = costs_.targets[target].launch;
    const CostSum gain = gain_of_moving(piece, target);
    Move move{piece, target, gain.nanoseconds - launch, {}};
    int64_t most = gain.nanoseconds + own_launch;  // if everything around became one region
    for (uint32_t other : adjacent) {
      most += costs_.targets[regions_[other].target].launch;
      if (regions_[other].target != target) continue;
      move.gain += launch;
      move.adjacent.push_back(other);
    }
    if (piece.atoms.size() == region.nodes.size()) move.gain += own_launch;
    if (gain.impossible > 0) move.gain = most = too_long;
    if (gain.impossible >= 0 && most > 0) moves.push_back(std::move(move));
  }

  /// The most promising first.
  std::vector<Move> find_moves() {
    std::vector<Move> moves;
    for (const Piece& piece : find_pieces()) {
      const std::vector<uint32_t> adjacent = find_adjacent(piece);
      for (uint32_t target = 0; target < costs_.targets.size(); ++target) {
        if (target != regions_[piece.region].target) add_move(piece, target, adjacent, moves);
      }
    }
    std::ranges::stable_sort(moves, std::ranges::greater(), &Move::gain);
    return moves;
  }

  bool try_together(const std::vector<Move>& moves) {
    std::vector<bool> touched(regions_.size(), false);
    std::vector<const Move*> chosen;
    for (const Move& move : moves) {
      const auto is_touched = [&](uint32_t region) { return touched[region]; };
      if (move.gain <= 0 || touched[move.piece.region] || std::ranges::any_of(move.adjacent, is_touched))
        continue;
      touched[move.piece.region] = true;
      for (uint32_t region : move.adjacent) touched[region] = true;
      chosen.push_back(&move);
    }
    for (; chosen.size() > 1; chosen.resize(chosen.size() / 2)) {
      if (is_better(chosen)) return true;
    }
    return false;
  }

  bool try_alone(const std::vector<Move>& moves) {
    return std::ranges::any_of(moves, [&](const Move& move) { return is_better({&move}); });
  }

  /// Keeps the moves if so.
  bool is_better(const std::vector<const Move*>& moves) {
    if (trials_ == 0) return false;
    for (const Move* move : moves) apply(move->piece, move->target);
    const CostSum cost = measure();
    if (cost < best_) {
      best_ = cost;
      return true;
    }
    for (const Move* move : moves) undo(move->piece);
    return false;
  }

  const PlacementCosts& costs_;
  const Neighbors &next_, &previous_;
  PlacementState state_;
  size_t trials_;
  CostSum best_;
  std::vector<Region> regions_;  // of the placement before the next move
  std::vector<uint32_t> region_of_;
  std::vector<bool> seen_;
};

}  // namespace

std::vector<uint32_t> refine_placement(const RefinementTools& tools, std::vector<uint32_t> target_of,
                                       size_t trials) {
  return PlacementRefiner(tools, std::move(target_of), trials).run();
}

}  // namespace intarsia
