#include "backends/halide/schedule/attention_schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/halide/core/core_attributes.h"
#include "backends/halide/schedule/amx_schedule.h"

namespace intarsia::halide {
namespace {

/// Bytes of the two buffers, for scores and for exponentials: part of a typical L2 cache, which also holds
/// keys and values.
constexpr int64_t buffer_bytes = 128 * 1024;

/// Rows that a block may have even beyond buffer_bytes: with fewer the register tiles would be small.
constexpr int64_t min_rows = 12;

/// Adds the schedules with this many rows per block, and the cycles of each.
void rank_blocks(const AttentionSizes& sizes, const Isa& isa, int64_t rows,
                 std::vector<std::pair<double, AttentionSchedule>>& ranked) {
  constexpr int bytes = sizeof(float);
  const int64_t lanes = isa.lanes(bytes), keys = (sizes.keys + lanes - 1) / lanes * lanes;
  const auto depth = static_cast<double>(sizes.depth), channels = static_cast<double>(sizes.channels);
  const auto blocks = static_cast<double>((sizes.rows + rows - 1) / rows),
             steps = static_cast<double>(sizes.keys);
  const ContractionTile product = rank_contraction_tiles(isa, bytes, sizes.channels, {.width = rows})[0];
  const double of_product =
      steps * contraction_tile_cycles(isa, bytes, product, sizes.channels, {.width = rows});
  // A block reads all keys and values: a tenth of a cycle per vector beyond what the products hide.
  const double of_reads = 0.1 * steps * (depth + channels) / static_cast<double>(lanes);
  for (const ContractionTile& scores : rank_contraction_tiles(isa, bytes, keys, {.width = rows})) {
    // Panels of more than one vector take 4 to 7% longer than the estimate, measured with 128 and 197 keys.
    const double wide = scores.panel > scores.lanes ? 1.05 : 1;
    const double of_scores =
        wide * depth * contraction_tile_cycles(isa, bytes, scores, keys, {.width = rows});
    // A last tile that starts earlier needs loops of its own: 64 rows by 13 take 12% longer than by 16.
    const double rest = rows % scores.pixels + rows % product.pixels > 0 ? 1.05 : 1;
    ranked.push_back({blocks * rest * (of_scores + of_product + of_reads), {scores, product, rows}});
  }
}

}  // namespace

AttentionSizes attention_sizes(const Graph& graph, const AttentionNodes& nodes) {
  auto shape = [&](ValueId value) { return shape_of(graph, value); };
  const Shape scores = shape(graph.node(nodes.scores).outputs[0]),
              out = shape(graph.node(nodes.product).outputs[0]);
  AttentionSizes sizes;
  sizes.batch = element_count(Shape(out.begin(), out.end() - 2));
  sizes.rows = out[out.size() - 2];
  sizes.keys = scores.back();
  sizes.depth = shape(graph.node(nodes.scores).inputs[0]).back();
  sizes.channels = out.back();
  return sizes;
}

std::string print_schedule(const AttentionSchedule& schedule) {
  const auto& [scores, product, rows, on_amx] = schedule;
  return fmt::format("{} rows, scores {}, product {}{}", rows, print_tile(scores), print_tile(product),
                     on_amx ? ", factors as bf16, on AMX" : "");
}

namespace {

/// Returns the schedule on tile registers: two by two of them, or one row of tiles for few queries.
std::optional<AttentionSchedule> amx_schedule(const AttentionSizes& sizes, const Isa& isa) {
  if (!isa.has_amx() || sizes.depth < amx_tile || sizes.keys < amx_pairs) return std::nullopt;
  if (sizes.channels % amx_tile != 0) return std::nullopt;
  const int64_t columns = sizes.channels % amx_pairs == 0 ? amx_pairs : amx_tile;
  const int64_t pixels = sizes.rows >= amx_pairs ? amx_pairs : std::min<int64_t>(sizes.rows, amx_tile);
  const ContractionTile scores{amx_tile, amx_pairs, pixels, true}, product{amx_tile, columns, pixels, true};
  const int64_t row_bytes = (sizes.keys + amx_pairs) * static_cast<int64_t>(sizeof(float) + 2);
  const int64_t most = std::max<int64_t>(buffer_bytes / row_bytes / pixels, 1) * pixels;
  return AttentionSchedule{scores, product, std::min(sizes.rows, most), true};
}

}  // namespace

std::vector<AttentionSchedule> attention_schedules(const AttentionSizes& sizes, const Isa& isa, size_t most,
                                                   bool rounds_to_bf16) {
  std::vector<std::pair<double, AttentionSchedule>> ranked;
  int64_t rows = 0;
  for (int64_t blocks = 1; rows != 1; ++blocks) {
    if (rows == (sizes.rows + blocks - 1) / blocks) continue;
    rows = (sizes.rows + blocks - 1) / blocks;
    if (rows > min_rows && 2 * rows * sizes.keys * static_cast<int64_t>(sizeof(float)) > buffer_bytes)
      continue;
    rank_blocks(sizes, isa, rows, ranked);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, AttentionSchedule>::first);
  std::vector<AttentionSchedule> best;
  for (const auto& [cycles, schedule] : ranked) {
    auto same_panel = [&](const AttentionSchedule& other) {
      return other.scores.panel == schedule.scores.panel && other.scores.lanes == schedule.scores.lanes;
    };
    if (best.size() < most && std::ranges::none_of(best, same_panel)) best.push_back(schedule);
  }
  if (const auto amx = rounds_to_bf16 ? amx_schedule(sizes, isa) : std::nullopt)
    best.insert(best.begin(), *amx);
  return best;
}

}  // namespace intarsia::halide
