#include "backends/halide/schedule/contraction_schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/halide/core/core_attributes.h"
#include "backends/halide/schedule/amx_schedule.h"
#include "backends/halide/schedule/winograd.h"

namespace intarsia::halide {
namespace {

using Algorithm = ContractionSchedule::Algorithm;

/// Bytes of weights that a core gets from memory in the time of one vector operation.
constexpr double memory_bytes_per_cycle = 4;

/// Cycles in which a vector of integers becomes numbers.
constexpr double dequantize_cycles = 4;

bool has_integers(const Node& anchor) {
  return op_of(anchor) == CoreOp::matmul && attributes_of<MatMulAttributes>(anchor).block > 0;
}

/// Removes tiles whose panels overlap, unless all do: integers of one row or a few are read from memory in
/// the time of a run, and only panels are contiguous.
void prefer_panels(std::vector<ContractionTile>& tiles) {
  const int64_t lanes = tiles[0].lanes;
  const auto is_whole = [&](const ContractionTile& tile) { return tile.exact && tile.lanes >= lanes; };
  if (std::ranges::any_of(tiles, is_whole))
    std::erase_if(tiles, [&](const ContractionTile& tile) { return !tile.exact; });
}

double direct_cycles(const ContractionSizes& s, const ContractionTile& tile) {
  const double taps = static_cast<double>(element_count(s.kernel)),
               pixels = static_cast<double>(element_count(s.pixels));
  const auto panels = static_cast<double>((s.channels + tile.panel - 1) / tile.panel * tile.panel);
  return static_cast<double>(s.batch * s.depth) * pixels * taps * panels / static_cast<double>(tile.lanes);
}

/// Estimates cycles: products at 85% of the direct rate, transforms at about six operations per vector of a
/// point.
double winograd_cycles(const ContractionSizes& s, const ContractionSchedule& schedule) {
  const Winograd& winograd = winograd_of(schedule.algorithm);
  const auto points = static_cast<double>(winograd.points() * winograd.points());
  const auto tiles = static_cast<double>(s.batch * winograd.tiles(s.pixels[0]) * winograd.tiles(s.pixels[1]));
  const auto depth = static_cast<double>(s.depth), channels = static_cast<double>(s.channels),
             lanes = static_cast<double>(schedule.tile.lanes);
  const double products = tiles * points * depth * channels / lanes / 0.85;
  const double transforms = tiles * points * 6 * (depth + channels) / lanes;
  const double extra_bytes = (points - 9) * depth * channels * sizeof(float);
  return products + transforms + extra_bytes / memory_bytes_per_cycle;
}

/// Checks whether tiles read vectors of the input along the depth: of f32, or of integers of 8 bits.
bool reads_vectors(const ContractionSizes& s, int bytes, const Isa& isa) {
  if (bytes == 1 && isa.has_dot_products()) return isa.multiplies_by_element();
  return (bytes == 1 || bytes == sizeof(float)) && depth_lanes(isa, s.depth) > 1;
}

/// Returns the processor as sums of a type see it. Without vectors, integers are in the general registers, of
/// which addresses and counters take some, and four remain where products of vectors are added to them.
/// Vectors that are multiplied by a general register leave two more for sums.
Isa isa_of_sums(const Isa& isa, DType sums, int64_t neighbors_at_once) {
  constexpr int free_registers = 10, registers_of_vectors = 4;
  Isa seen = isa;
  if (!is_integer(sums)) return seen;
  if (isa.multiplies_words()) seen.registers = free_registers;
  if (isa.has_helium()) seen.registers = neighbors_at_once > 0 ? registers_of_vectors : isa.registers + 2;
  return seen;
}

PixelRow pixel_row(const ContractionSizes& s, int bytes, const Isa& isa, int threads) {
  return {.width = s.pixels.back(),
          .in_blocks = element_count(s.pixels) == s.pixels.back(),
          .pixel_bytes = s.depth * s.group * bytes,
          .block_bytes = isa.block_bytes(),
          .threads = threads,
          .depth = s.depth,
          .reads_vectors = reads_vectors(s, bytes, isa),
          .rows = s.batch * s.group * element_count(s.pixels) / std::max<int64_t>(s.pixels.back(), 1)};
}

std::vector<ContractionSchedule> with_tiles(Algorithm algorithm, const std::vector<ContractionTile>& tiles,
                                            size_t most) {
  std::vector<ContractionSchedule> schedules;
  for (size_t i = 0; i < std::min(tiles.size(), most); ++i) schedules.push_back({algorithm, tiles[i]});
  return schedules;
}

/// Returns schedules; integers of fewer bits than the sums are widened once, in a copy.
std::vector<ContractionSchedule> depthwise_schedules(const Node& conv, bool widens,
                                                     const ContractionTile& tile, size_t most) {
  if (widens || !all_are(attributes_of<ConvAttributes>(conv).input_dilations, 1))
    return {{Algorithm::depthwise, tile}};
  std::vector<ContractionSchedule> schedules{{Algorithm::depthwise_in_place, tile}};
  if (most > 1) schedules.push_back({Algorithm::depthwise, tile});
  return schedules;
}

std::vector<ContractionSchedule> winograd_schedules(Algorithm algorithm, const ContractionSizes& s,
                                                    const Isa& isa, const ScheduleSpace& space) {
  const int64_t tiles =
      winograd_of(algorithm).tiles(s.pixels[1]) * winograd_block_rows(s, {algorithm, {}}, space.threads);
  std::vector<ContractionTile> ranked = rank_contraction_tiles(
      isa, sizeof(float), s.channels, {.width = tiles, .reads_vectors = depth_lanes(isa, s.depth) > 1});
  std::erase_if(ranked, [](const ContractionTile& tile) { return !tile.exact; });
  return with_tiles(algorithm, ranked, std::max<size_t>(space.max_tiles / 4, 1));
}

/// Returns schedules with the larger tile; those with the smaller one come first, if its fewer weights make
/// up for its arithmetic.
std::vector<ContractionSchedule> winograd_schedules(const ContractionSizes& s, const Isa& isa,
                                                    const ScheduleSpace& space) {
  std::vector<ContractionSchedule> large = winograd_schedules(Algorithm::winograd_4x4, s, isa, space),
                                   small = winograd_schedules(Algorithm::winograd_2x2, s, isa, space);
  if (large.empty() || small.empty() || winograd_cycles(s, small[0]) > winograd_cycles(s, large[0]))
    return large;
  small.insert(small.end(), large.begin(), large.end());
  return small;
}

/// Checks whether products of f32 may round factors: both for dot products of bf16, or weights to f16.
bool allows_rounding(const Graph& body, const Node& anchor, const Isa& isa, const ScheduleSpace& space) {
  const auto is_f32 = [&](ValueId value) { return body.value(value).type.dtype == DType::f32; };
  if (!space.constant_weights || !is_f32(anchor.inputs[0]) || !is_f32(anchor.inputs[1]) ||
      !is_f32(anchor.outputs[0]))
    return false;
  if (space.rounds_to == DType::bf16)
    return isa.has_bf16_products() && contraction_sizes(body, anchor).depth % 2 == 0;
  return space.rounds_to == DType::f16 && !isa.is_offloaded();
}

/// Adds the same schedules with rounded factors: before those that do not round, unless each weight is read
/// for many rows, where widening it may cost more than memory's time. Only these remain where size matters.
void add_rounded(std::vector<ContractionSchedule>& direct, const PixelRow& row, const ScheduleSpace& space) {
  std::vector<ContractionSchedule> rounded = direct;
  for (ContractionSchedule& schedule : rounded) schedule.rounds_to = space.rounds_to;
  if (space.prefers_size) direct.clear();
  const bool comes_last = space.rounds_to == DType::f16 && row.width > few_rows;
  direct.insert(comes_last ? direct.end() : direct.begin(), rounded.begin(), rounded.end());
}

}  // namespace

int64_t depth_steps(const ContractionSchedule& schedule) { return schedule.on_amx ? amx_tile : 1; }

std::string print_schedule(const ContractionSchedule& schedule) {
  constexpr const char* names[] = {"direct", "depthwise", "depthwise_in_place", "winograd_2x2",
                                   "winograd_4x4"};
  const auto& [algorithm, tile, threads_share_rows, rounds_to, on_amx] = schedule;
  const char* const as = rounds_to == DType::bf16  ? ", factors as bf16"
                         : rounds_to == DType::f16 ? ", weights as f16"
                                                   : "";
  return fmt::format("{} {}, threads by {}{}{}", names[static_cast<size_t>(algorithm)], print_tile(tile),
                     threads_share_rows ? "rows" : "panels", as, on_amx ? ", on AMX" : "");
}

ContractionSizes contraction_sizes(const Graph& body, const Node& anchor) {
  const Shape weights = shape_of(body, anchor.inputs[1]), out = shape_of(body, anchor.outputs[0]);
  ContractionSizes sizes;
  if (op_of(anchor) == CoreOp::matmul) {
    sizes.batch = element_count(Shape(out.begin(), out.end() - 2));
    sizes.channels = out.back();
    sizes.depth = shape_of(body, anchor.inputs[0]).back();
    sizes.pixels = {out[out.size() - 2]};
    return sizes;
  }
  sizes.batch = out[0];
  sizes.group = attributes_of<ConvAttributes>(anchor).group;
  sizes.channels = out[1] / sizes.group;
  sizes.depth = weights[1];
  sizes.pixels.assign(out.begin() + 2, out.end());
  sizes.kernel.assign(weights.begin() + 2, weights.end());
  return sizes;
}

int64_t neighbors_at_once(const Isa& isa, DType input, const ContractionSizes& sizes, bool constant_weights) {
  const int64_t most = isa.neighbors_at_once();
  const bool fills =
      sizes.depth > most / 2 && (sizes.group == 1 || sizes.depth % std::max<int64_t>(most, 1) == 0);
  return input == DType::u8 && constant_weights && fills ? most : 0;
}

bool allows_winograd(const Graph& body, const Node& anchor) {
  if (op_of(anchor) != CoreOp::conv) return false;
  for (const ValueId value : {anchor.inputs[0], anchor.inputs[1], anchor.outputs[0]})
    if (body.value(value).type.dtype != DType::f32) return false;
  const ContractionSizes sizes = contraction_sizes(body, anchor);
  const ConvAttributes conv = attributes_of<ConvAttributes>(anchor);
  return sizes.kernel == Shape{3, 3} && conv.group == 1 && all_are(conv.strides, 1) &&
         all_are(conv.dilations, 1) && all_are(conv.input_dilations, 1);
}

std::vector<ContractionSchedule> contraction_schedules(const Graph& body, const Node& anchor, const Isa& isa,
                                                       const ScheduleSpace& space) {
  const ContractionSizes sizes = contraction_sizes(body, anchor);
  const auto bytes_of = [&](ValueId value) { return dtype_bits(body.value(value).type.dtype) / 8; };
  PixelRow row = pixel_row(sizes, bytes_of(anchor.inputs[0]), isa, space.threads);
  if (has_integers(anchor) && row.width <= few_rows) row.weight_cycles = dequantize_cycles;
  const DType input = body.value(anchor.inputs[0]).type.dtype,
              sums = body.value(anchor.outputs[0]).type.dtype;
  const int64_t at_once = neighbors_at_once(isa, input, sizes, space.constant_weights);
  std::vector<ContractionTile> tiles = rank_contraction_tiles(
      isa_of_sums(isa, sums, at_once), bytes_of(anchor.outputs[0]), sizes.channels, row);
  if (has_integers(anchor)) prefer_panels(tiles);
  if (space.constant_weights && op_of(anchor) == CoreOp::conv && sizes.group > 1 && sizes.depth == 1 &&
      sizes.channels == 1)
    return depthwise_schedules(anchor, is_integer(input), tiles[0], space.max_tiles);
  std::vector<ContractionSchedule> direct = with_tiles(Algorithm::direct, tiles, space.max_tiles);
  if (allows_amx(body, anchor, isa, space)) {
    const std::vector<ContractionSchedule> amx = amx_schedules(body, anchor, space);
    direct.insert(direct.begin(), amx.begin(), amx.end());
  } else if (allows_rounding(body, anchor, isa, space)) {
    add_rounded(direct, row, space);
  }
  // Transformed weights take four times the memory, of which microcontrollers have little.
  if (!space.constant_weights || space.exact_math || isa.is_in_order() || !allows_winograd(body, anchor))
    return direct;
  std::vector<ContractionSchedule> winograd = winograd_schedules(sizes, isa, space);
  const bool winograd_first = !winograd.empty() && !direct[0].rounds() && !direct[0].on_amx &&
                              winograd_cycles(sizes, winograd[0]) < direct_cycles(sizes, direct[0].tile);
  std::vector<ContractionSchedule>& first = winograd_first ? winograd : direct;
  std::vector<ContractionSchedule>& second = winograd_first ? direct : winograd;
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace intarsia::halide
