#include "backends/halide/schedule/amx_schedule.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

/// Numbers of tiles that hold sums, along pixels and along channels. With the factors' they fill no more than
/// eight registers.
struct TileBlock {
  int64_t rows, columns;
};
constexpr TileBlock blocks[] = {{2, 2}, {1, 4}, {4, 1}, {1, 3}, {3, 1}, {1, 2}, {2, 1}, {1, 1}};

/// Estimates the cycles that a depth of 64 bytes takes in one tile of a block: one a row, but at least the
/// instruction's latency, while other tiles wait for it, too, and the loads from the caches.
double cycles_of_tile(const TileBlock& block, int64_t rows) {
  const auto tiles = static_cast<double>(block.rows * block.columns);
  const double loads = 8.0 * static_cast<double>(block.rows + block.columns) / tiles;
  return std::max({static_cast<double>(rows), 52.0 / tiles, loads});
}

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Returns the pixels of a block: in one row of tiles equal parts of all pixels, else whole registers, as
/// LLVM runs out of those where factors and sums have different shapes.
int64_t pixels_of(int64_t width, const TileBlock& block) {
  if (block.rows > 1) return amx_tile * block.rows;
  return ceil_of(width, ceil_of(width, amx_tile));
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
  if (are(DType::u8, DType::i8)) return sizes.depth >= amx_depth_bytes / 4;
  const bool are_bf16 = are(DType::bf16, DType::bf16) || (are(DType::f32, DType::f32) && space.allows_bf16);
  return are_bf16 && space.constant_weights && sizes.depth >= amx_depth_bytes / 8;
}

std::vector<ContractionSchedule> amx_schedules(const Graph& body, const Node& anchor,
                                               const ScheduleSpace& space) {
  const ContractionSizes sizes = contraction_sizes(body, anchor);
  const bool rounds = body.value(anchor.inputs[0]).type.dtype == DType::f32;
  std::vector<std::pair<double, ContractionSchedule>> ranked;
  for (const TileBlock& block : blocks) {
    const int64_t width = sizes.pixels.back(), panel = amx_tile * block.columns;
    const int64_t pixels = space.has_open_pixels ? amx_tile * block.rows : pixels_of(width, block);
    if ((width < pixels && !space.has_open_pixels) || sizes.channels < panel) continue;
    const ContractionTile tile{amx_tile, panel, pixels, sizes.channels % panel == 0};
    const int64_t tiles =
        ceil_of(width, tile.pixels) * block.rows * ceil_of(sizes.channels, panel) * block.columns;
    ranked.push_back(
        {static_cast<double>(tiles) * cycles_of_tile(block, pixels / block.rows) * (tile.exact ? 1 : 1.2),
         {ContractionSchedule::Algorithm::direct, tile, true, rounds, true}});
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& one) { return one.first; });
  std::vector<ContractionSchedule> schedules;
  for (const auto& [cycles, schedule] : ranked)
    if (schedules.size() < space.max_tiles) schedules.push_back(schedule);
  return schedules;
}

}  // namespace intarsia::halide
