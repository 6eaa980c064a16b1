#include "backends/halide/schedule/contraction_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace intarsia::halide {
namespace {

/// Returns the most pixels whose sums are in registers. Spare ones hold a panel's weights and a broadcast
/// pixel; with fewer the compiler spills (measured: 7 x 64 on 32 registers halves the speed). Where vectors
/// of the input are read, each pixel has one, and the next weights are read before these are used.
int64_t max_pixels(const Isa& isa, int64_t vectors, bool reads_vectors) {
  if (reads_vectors) return (isa.registers - 2 * vectors - 2) / (vectors + 1);
  return (isa.registers - vectors - 2) / vectors;
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::string print_tile(const ContractionTile& tile) {
  const auto& [lanes, panel, pixels, exact, rows] = tile;
  return fmt::format("{}{} x {} of {}{}", rows == 1 ? "" : fmt::format("{} x ", rows), pixels, panel, lanes,
                     exact ? "" : ", panels overlap");
}

/// Estimates cycles over all tiles, for one step of the reduction: a multiply-add per cycle, at least 8
/// chains to hide its latency, and something for loads, more for weights, which stream from the L2 cache. A
/// microcontroller does one at a time, loads, too.
double contraction_tile_cycles(const Isa& isa, int element_bytes, const ContractionTile& tile,
                               int64_t channels, const PixelRow& row) {
  auto t = static_cast<double>(tile.pixels), v = static_cast<double>(tile.panel / tile.lanes);
  double step = std::max(t * v, 8.0) + row.weight_cycles * v + 0.1 * t;
  if (isa.is_in_order()) step = t * v + v + t;
  auto rounds = static_cast<double>((channels + tile.panel - 1) / tile.panel) *
                static_cast<double>(row.tiles(tile.pixels));
  double half_vectors = static_cast<double>(isa.lanes(element_bytes)) / static_cast<double>(tile.lanes);
  return rounds * step * (tile.exact ? 1.0 : 1.1) * (half_vectors > 1 ? 1.02 : 1.0);
}

RowBlocks choose_row_blocks(int64_t rows, int64_t row_bytes, int64_t block_bytes, int threads) {
  const int64_t max_rows = std::max<int64_t>(block_bytes / std::max<int64_t>(row_bytes, 1), 1),
                shares = rows >= 2 * threads ? threads : 1;
  const int64_t fewest = divide_up(divide_up(rows, max_rows), shares) * shares;
  RowBlocks best{0, 0};
  double least = 0;
  for (int64_t wanted = fewest; wanted <= std::min(4 * fewest, rows); wanted += shares) {
    RowBlocks blocks{0, divide_up(rows, wanted)};
    blocks.blocks = divide_up(rows, blocks.rows);
    // A thread that starts late leaves blocks to others if it has more than one; each block reads all
    // weights.
    const double alone = shares > 1 && wanted == shares ? 1.02 : 1,
                 weights = 1 + 0.005 * static_cast<double>(wanted - fewest);
    const double work = static_cast<double>(divide_up(blocks.blocks, shares) * blocks.rows) * alone * weights;
    if (best.blocks == 0 || work < least) best = blocks, least = work;
  }
  return best.blocks == 0 ? RowBlocks{rows, 1} : best;
}

RowBlocks PixelRow::tile_blocks(int64_t pixels) const {
  return choose_row_blocks(divide_up(width, pixels), pixels * pixel_bytes, block_bytes, threads);
}

int64_t PixelRow::tiles(int64_t pixels) const {
  if (!in_blocks) return divide_up(width, pixels);
  const RowBlocks blocks = tile_blocks(pixels);
  return divide_up(blocks.blocks, threads) * threads * blocks.rows;
}

namespace {

int64_t count_tiles(const ContractionTile& tile, int64_t channels, const PixelRow& row) {
  return divide_up(channels, tile.panel) * divide_up(row.width, tile.pixels) * row.rows;
}

/// Estimates cycles of a GPU for the reduction, without its taps. Of a group's items, neighbors have
/// neighboring channels, then neighboring tiles of pixels: reading weights takes a cycle for each channel of
/// the tile, and reading inputs one for each pixel of each tile in 32 items. Too few items leave
/// multiprocessors idle or waiting for memory.
double group_cycles(const ContractionTile& tile, int64_t channels, const PixelRow& row) {
  constexpr double multiprocessors = 128, adds_per_cycle = 4, latency = 60;
  const int64_t panels = divide_up(channels, tile.panel);
  const auto t = static_cast<double>(tile.pixels), c = static_cast<double>(tile.panel);
  const auto slices = static_cast<double>(slice_tile(tile, channels, row).slices);
  const double items = static_cast<double>(count_tiles(tile, channels, row)) * slices;
  const double tiles_of_warp = std::max(32.0 / static_cast<double>(panels), 1.0);
  const double cycles = std::max(t * tiles_of_warp + c, t * c / adds_per_cycle) + 0.1 * t * c;
  const double step = std::max(std::ceil(items / 32 / multiprocessors) * cycles, latency + cycles);
  return step * static_cast<double>(row.depth) / slices;
}

/// Tiles with the cycles that they take.
using TimedTiles = std::vector<std::pair<double, ContractionTile>>;

/// Returns the tiles, the fastest first.
std::vector<ContractionTile> sorted_by_time(TimedTiles timed) {
  std::ranges::stable_sort(timed, {}, &TimedTiles::value_type::first);
  std::vector<ContractionTile> tiles;
  for (const auto& [time, tile] : timed) tiles.push_back(tile);
  return tiles;
}

/// Ranks tiles for groups of items: those whose panels divide the channels, with at most 32 sums.
std::vector<ContractionTile> rank_group_tiles(int64_t channels, const PixelRow& row) {
  TimedTiles ranked;
  for (int64_t panel = 1; panel <= 8; panel *= 2) {
    if (channels % panel != 0) break;
    std::pair<double, ContractionTile> best{-1, {}};
    for (int64_t pixels = 1; pixels <= std::min<int64_t>(row.width, 32 / panel); ++pixels) {
      const ContractionTile tile{1, panel, pixels, true};
      const double time = group_cycles(tile, channels, row);
      if (best.first < 0 || time < best.first) best = {time, tile};
    }
    ranked.push_back(best);
  }
  return sorted_by_time(std::move(ranked));
}

}  // namespace

TileSlices slice_tile(const ContractionTile& tile, int64_t channels, const PixelRow& row) {
  constexpr int64_t wanted_items = 128 * 1024, most_slices = 16, most_bytes = 32 * 1024, fewest_steps = 16;
  const int64_t panels = divide_up(channels, tile.panel);
  TileSlices best;
  while (best.tiles < 32 && panels % (2 * best.tiles) == 0) best.tiles *= 2;
  const auto fits = [&](int64_t slices) {
    const int64_t sums = best.tiles * slices * tile.panel * tile.pixels;
    return slices <= most_slices && count_tiles(tile, channels, row) * slices <= wanted_items &&
           row.depth % (4 * slices) == 0 && row.depth / slices >= fewest_steps &&
           sums * static_cast<int64_t>(sizeof(double)) <= most_bytes;
  };
  while (tile.exact && best.tiles >= 8 && fits(2 * best.slices)) best.slices *= 2;
  return best;
}

int64_t depth_lanes(const Isa& isa, int64_t depth) {
  constexpr int64_t lanes = 4;
  return isa.multiplies_by_element() && depth % lanes == 0 ? lanes : 1;
}

std::vector<ContractionTile> rank_contraction_tiles(const Isa& isa, int element_bytes, int64_t channels,
                                                    const PixelRow& row) {
  if (isa.runs_groups()) return rank_group_tiles(channels, row);
  TimedTiles ranked;
  for (int64_t lanes = isa.lanes(element_bytes); lanes >= 1; lanes /= 2) {
    for (int64_t vectors = 1; vectors <= 6 && lanes * vectors <= channels; ++vectors) {
      const int64_t panel = lanes * vectors;
      std::pair<double, ContractionTile> best{-1, {}};
      const int64_t most = max_pixels(isa, vectors, row.reads_vectors);
      for (int64_t pixels = 1; pixels <= std::min(row.width, most); ++pixels) {
        const ContractionTile tile{lanes, panel, pixels, channels % panel == 0};
        const double time = contraction_tile_cycles(isa, element_bytes, tile, channels, row);
        if (best.first < 0 || time < best.first) best = {time, tile};
      }
      if (most > 0) ranked.push_back(best);
    }
  }
  return sorted_by_time(std::move(ranked));
}

}  // namespace intarsia::halide
