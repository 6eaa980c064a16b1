#include "backends/halide/contraction_tile.h"

#include <algorithm>
#include <utility>

namespace intarsia::halide {
namespace {

/// Spare registers hold a panel's weights and a broadcast pixel; with fewer the compiler spills (measured: 7
/// x 64 on 32 registers halves the speed).
int64_t most_accumulators(const Isa& isa, int64_t vectors) { return isa.registers - vectors - 2; }

/// Cycles over all tiles, for one step of the reduction: a multiply-add a cycle, at least 8 chains to hide
/// its latency, and something for loads, more for weights, which stream from the second-level cache.
double cost(const Isa& isa, int element_bytes, const ContractionTile& tile, int64_t channels, int64_t width) {
  auto t = static_cast<double>(tile.pixels), v = static_cast<double>(tile.panel / tile.lanes);
  double step = std::max(t * v, 8.0) + 0.5 * v + 0.1 * t;
  auto rounds = static_cast<double>((channels + tile.panel - 1) / tile.panel) *
                static_cast<double>((width + tile.pixels - 1) / tile.pixels);
  double half_vectors = static_cast<double>(isa.lanes(element_bytes)) / static_cast<double>(tile.lanes);
  return rounds * step * (tile.exact ? 1.0 : 1.1) * (half_vectors > 1 ? 1.02 : 1.0);
}

}  // namespace

std::vector<ContractionTile> rank_contraction_tiles(const Isa& isa, int element_bytes, int64_t channels,
                                                    int64_t width) {
  std::vector<std::pair<double, ContractionTile>> ranked;
  for (int64_t lanes = isa.lanes(element_bytes); lanes >= 1; lanes /= 2) {
    for (int64_t vectors = 1; vectors <= 6 && lanes * vectors <= channels; ++vectors) {
      const int64_t panel = lanes * vectors;
      std::pair<double, ContractionTile> best{-1, {}};
      for (int64_t pixels = 1; pixels <= std::min(width, most_accumulators(isa, vectors) / vectors); ++pixels) {
        const ContractionTile tile{lanes, panel, pixels, channels % panel == 0};
        const double time = cost(isa, element_bytes, tile, channels, width);
        if (best.first < 0 || time < best.first) best = {time, tile};
      }
      ranked.push_back(best);
    }
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, ContractionTile>::first);
  std::vector<ContractionTile> tiles;
  for (const auto& [time, tile] : ranked) tiles.push_back(tile);
  return tiles;
}

}  // namespace intarsia::halide
