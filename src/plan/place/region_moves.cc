#include "plan/place/region_moves.h"

#include <tuple>

#include "plan/partition/grow_regions.h"

namespace intarsia {
namespace {

/// Atoms of one region.
struct Piece {
  uint32_t region = 0;
  std::vector<uint32_t> atoms;
};

class MoveFinder {
 public:
  MoveFinder(const RefinementTools& tools, const std::vector<Region>& regions, PlacementState& state)
      : tools_(tools),
        regions_(regions),
        state_(state),
        region_of_(number_nodes(regions, tools.next.size())),
        seen_(tools.next.size(), false) {}

  std::vector<RegionMove> run() {
    for (const Piece& piece : find_pieces()) {
      const std::vector<uint32_t> adjacent = find_adjacent(piece);
      for (uint32_t target = 0; target < tools_.costs.targets.size(); ++target) {
        if (target != regions_[piece.region].target) add_move(piece, target, adjacent);
      }
    }
    std::ranges::sort(moves_, {}, [](const RegionMove& move) {
      return std::tuple(-move.gain, move.region, move.atoms[0], move.atoms.size(), move.target);
    });
    return std::move(moves_);
  }

 private:
  std::vector<Piece> find_pieces() {
    std::vector<Piece> pieces;
    for (uint32_t region = 0; region < regions_.size(); ++region) {
      Piece whole{region, {}};
      for (NodeId atom : regions_[region].nodes) whole.atoms.push_back(static_cast<uint32_t>(atom));
      if (whole.atoms.size() > 1) {
        for (uint32_t atom : whole.atoms) pieces.push_back({region, {atom}});
        std::vector<Piece> components = find_components(whole);
        if (components.size() > 1) std::ranges::move(components, std::back_inserter(pieces));
      }
      pieces.push_back(std::move(whole));
    }
    return pieces;
  }

  /// Finds groups of atoms that edges within the region connect.
  std::vector<Piece> find_components(const Piece& whole) {
    std::vector<Piece> components;
    for (uint32_t start : whole.atoms) {
      if (seen_[start]) continue;
      Piece piece{whole.region, {start}};
      seen_[start] = true;
      for (size_t i = 0; i < piece.atoms.size(); ++i) {
        for (const Neighbors* edges : {&tools_.next, &tools_.previous}) {
          for (uint32_t other : (*edges)[piece.atoms[i]]) {
            if (seen_[other] || region_of_[other] != whole.region) continue;
            seen_[other] = true;
            piece.atoms.push_back(other);
          }
        }
      }
      components.push_back(std::move(piece));
    }
    return components;
  }

  /// Finds the other regions that exchange values with the piece, each once.
  std::vector<uint32_t> find_adjacent(const Piece& piece) const {
    std::vector<uint32_t> regions;
    for (uint32_t atom : piece.atoms) {
      for (const Neighbors* edges : {&tools_.next, &tools_.previous}) {
        for (uint32_t other : (*edges)[atom]) {
          if (region_of_[other] != piece.region) regions.push_back(region_of_[other]);
        }
      }
    }
    std::ranges::sort(regions);
    regions.erase(std::ranges::unique(regions).begin(), regions.end());
    return regions;
  }

  /// Returns what atoms and copies gain.
  CostSum try_out(const Piece& piece, uint32_t target) {
    const CostSum before = state_.cost();
    for (uint32_t atom : piece.atoms) state_.move(atom, target);
    const CostSum after = state_.cost();
    for (uint32_t atom : piece.atoms) state_.move(atom, regions_[piece.region].target);
    return {before.impossible - after.impossible, before.nanoseconds - after.nanoseconds};
  }

  void add_move(const Piece& piece, uint32_t target, const std::vector<uint32_t>& adjacent) {
    const auto fits = [&](uint32_t atom) { return tools_.costs.times[atom][target] < too_long; };
    if (!std::ranges::all_of(piece.atoms, fits)) return;
    const auto launch = [&](uint32_t of) { return tools_.costs.targets[of].launch; };
    const Region& region = regions_[piece.region];
    const CostSum gain = try_out(piece, target);
    if (gain.impossible < 0) return;
    RegionMove move{piece.region, piece.atoms, target, {}, gain.nanoseconds - launch(target)};
    move.most = gain.nanoseconds + launch(region.target);
    for (uint32_t other : adjacent) {
      move.most += launch(regions_[other].target);
      if (regions_[other].target != target) continue;
      move.gain += launch(target);
      move.adjacent.push_back(other);
    }
    if (piece.atoms.size() == region.nodes.size()) move.gain += launch(region.target);
    if (gain.impossible > 0) move.gain = move.most = too_long;
    moves_.push_back(std::move(move));
  }

  const RefinementTools& tools_;
  const std::vector<Region>& regions_;
  PlacementState& state_;
  const std::vector<uint32_t> region_of_;
  std::vector<bool> seen_;
  std::vector<RegionMove> moves_;
};

}  // namespace

std::vector<RegionMove> find_region_moves(const RefinementTools& tools, const std::vector<Region>& regions,
                                          PlacementState& state) {
  return MoveFinder(tools, regions, state).run();
}

}  // namespace intarsia
