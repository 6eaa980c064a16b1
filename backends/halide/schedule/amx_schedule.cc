#include "backends/halide/schedule/amx_schedule.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

/// Numbers of tiles that hold sums, along pixels and along channels. With the factors' they fill no more than
/// eight registers.
struct TileBlock {
  int64_t rows, columns;
};
constexpr TileBlock blocks[] = {{2, 2}, {1, 4}, {4, 1}, {3, 1}, {1, 2}, {2, 1}, {1, 1}};

/// Estimates the cycles that a depth of 64 bytes takes in one tile of a block: one a row, but at least the
/// instruction's latency, while other tiles wait for it, too, and the loads of pixels from the L1 cache and
/// of weights from L2.
double cycles_of_tile(const TileBlock& block, int64_t rows) {
  const auto tiles = static_cast<double>(block.rows * block.columns);
  const double loads =
      (8.0 * static_cast<double>(block.rows) + 20.0 * static_cast<double>(block.columns)) / tiles;
  return std::max({static_cast<double>(rows), 52.0 / tiles, loads});
}

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Returns the ways in which the pixels of a block lie in a picture: as one row, in equal parts of all pixels
/// if that is one tile; or as several rows of whole registers, as LLVM runs out of those where factors and
/// sums have different shapes.
std::vector<ContractionTile> tiles_of(const ContractionSizes& sizes, const TileBlock& block, bool is_open) {
  const int64_t width = sizes.pixels.back(), panel = amx_tile * block.columns;
  const int64_t height = sizes.pixels.size() > 1 ? sizes.pixels[sizes.pixels.size() - 2] : 1;
  const bool is_exact = sizes.channels % panel == 0;
  if (is_open) return {{amx_tile, panel, amx_tile * block.rows, is_exact}};
  if (block.rows == 1) return {{amx_tile, panel, ceil_of(width, ceil_of(width, amx_tile)), is_exact}};
  std::vector<ContractionTile> tiles;
  for (int64_t rows = 1; rows <= std::min(block.rows, height); ++rows) {
    const int64_t pixels = amx_tile * block.rows / rows;
    if (block.rows % rows == 0 && ceil_of(width, amx_tile) * amx_tile >= pixels)
      tiles.push_back({amx_tile, panel, pixels, is_exact, rows});
  }
  return tiles;
}

/// Estimates the cycles of a depth of 64 bytes in all tiles.
double cycles_of(const ContractionSizes& sizes, const TileBlock& block, const ContractionTile& tile) {
  const int64_t height = element_count(sizes.pixels) / std::max<int64_t>(sizes.pixels.back(), 1);
  const int64_t blocks = ceil_of(height, tile.rows) * ceil_of(sizes.pixels.back(), tile.pixels) *
                         ceil_of(sizes.channels, tile.panel);
  const int64_t rows_of_tile = tile.pixels * tile.rows / block.rows;
  return static_cast<double>(blocks * block.rows * block.columns) * cycles_of_tile(block, rows_of_tile) *
         (tile.exact ? 1 : 1.2);
}

}  // namespace

bool allows_amx(const Graph& body, const Node& anchor, const Isa& isa, const ScheduleSpace& space) {
  const ContractionSizes sizes = contraction_sizes(body, anchor);
  const auto are = [&](DType first, DType second) {
    return body.value(anchor.inputs[0]).type.dtype == first &&
           body.value(anchor.inputs[1]).type.dtype == second;
  };
  if (!isa.has_amx() || sizes.group != 1 || sizes.channels < amx_tile) return false;
  if (space.has_open_matrix || (space.has_open_pixels && !sizes.kernel.empty())) return false;
  if (are(DType::u8, DType::i8)) return sizes.depth >= amx_least_depth(1);
  const bool are_bf16 =
      are(DType::bf16, DType::bf16) || (are(DType::f32, DType::f32) && space.rounds_to == DType::bf16);
  return are_bf16 && space.constant_weights && sizes.depth >= amx_least_depth(2);
}

std::vector<ContractionSchedule> amx_schedules(const Graph& body, const Node& anchor,
                                               const ScheduleSpace& space) {
  const ContractionSizes sizes = contraction_sizes(body, anchor);
  const bool rounds = body.value(anchor.inputs[0]).type.dtype == DType::f32;
  std::vector<std::pair<double, ContractionSchedule>> ranked;
  for (const TileBlock& block : blocks) {
    if (sizes.channels < amx_tile * block.columns) continue;
    for (const ContractionTile& tile : tiles_of(sizes, block, space.has_open_pixels))
      ranked.push_back(
          {cycles_of(sizes, block, tile),
           {ContractionSchedule::Algorithm::direct, tile, true, rounds ? DType::bf16 : DType::f32, true}});
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& one) { return one.first; });
  // The estimate knows nothing of reading and writing the output, for which wider panels are better.
  std::vector<ContractionSchedule> schedules;
  for (const auto& [cycles, schedule] : ranked) {
    const auto has_panel = [&](const ContractionSchedule& other) {
      return other.tile.panel == schedule.tile.panel;
    };
    if (schedules.size() < space.max_tiles && std::ranges::none_of(schedules, has_panel))
      schedules.push_back(schedule);
  }
  return schedules;
}

}  // namespace intarsia::halide
