#include "backends/halide/contraction_schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/halide/winograd.h"

namespace intarsia::halide {
namespace {

using Algorithm = ContractionSchedule::Algorithm;

Shape shape_of(const Graph& graph, ValueId id) { return *graph.value(id).type.fixed_shape(); }

bool all_equal(const std::vector<int64_t>& numbers, int64_t wanted) {
  return std::ranges::all_of(numbers, [&](int64_t number) { return number == wanted; });
}

/// Bytes of weights that a core gets from memory in the time of one vector operation.
constexpr double memory_bytes_per_cycle = 4;

double direct_cycles(const ContractionSizes& s, const ContractionTile& tile) {
  const double taps = static_cast<double>(element_count(s.kernel)), pixels = static_cast<double>(element_count(s.pixels));
  const auto panels = static_cast<double>((s.channels + tile.panel - 1) / tile.panel * tile.panel);
  return static_cast<double>(s.batch * s.depth) * pixels * taps * panels / static_cast<double>(tile.lanes);
}

/// Products at 85% of the direct rate, transforms at some six operations a vector of a point.
double winograd_cycles(const ContractionSizes& s, const ContractionTile& tile) {
  constexpr double points = winograd_points * winograd_points;
  const auto tiles = static_cast<double>(s.batch * ((s.pixels[0] + winograd_tile - 1) / winograd_tile) *
                                         ((s.pixels[1] + winograd_tile - 1) / winograd_tile));
  const auto depth = static_cast<double>(s.depth), channels = static_cast<double>(s.channels),
             lanes = static_cast<double>(tile.lanes);
  const double products = tiles * points * depth * channels / lanes / 0.85;
  const double transforms = tiles * points * 6 * (depth + channels) / lanes;
  const double extra_bytes = (points - 9) * depth * channels * sizeof(float);
  return products + transforms + extra_bytes / memory_bytes_per_cycle;
}

ContractionSchedule winograd_schedule(const ContractionSizes& s, const Isa& isa) {
  const int64_t tiles_x = (s.pixels[1] + winograd_tile - 1) / winograd_tile,
                tiles_y = (s.pixels[0] + winograd_tile - 1) / winograd_tile;
  const int64_t tiles = tiles_x * winograd_block_rows(tiles_x, tiles_y, s.depth);
  return {Algorithm::winograd, choose_contraction_tile(isa, sizeof(float), s.channels, tiles)};
}

}  // namespace

std::string print_schedule(const ContractionSchedule& schedule) {
  constexpr const char* names[] = {"direct", "depthwise", "winograd"};
  return fmt::format("{} {} x {} of {}", names[static_cast<size_t>(schedule.algorithm)], schedule.tile.pixels,
                     schedule.tile.panel, schedule.tile.lanes);
}

ContractionSizes contraction_sizes(const Graph& body, const Node& anchor) {
  const Shape weights = shape_of(body, anchor.inputs[1]), out = shape_of(body, anchor.outputs[0]);
  ContractionSizes sizes;
  if (anchor.op == "MatMul") {
    sizes.batch = element_count(Shape(out.begin(), out.end() - 2));
    sizes.channels = out.back();
    sizes.depth = shape_of(body, anchor.inputs[0]).back();
    sizes.pixels = {out[out.size() - 2]};
    return sizes;
  }
  sizes.batch = out[0];
  sizes.group = anchor.attributes.get_int("group", 1);
  sizes.channels = out[1] / sizes.group;
  sizes.depth = weights[1];
  sizes.pixels.assign(out.begin() + 2, out.end());
  sizes.kernel.assign(weights.begin() + 2, weights.end());
  return sizes;
}

bool allows_winograd(const Graph& body, const Node& anchor) {
  if (anchor.op != "Conv" || body.value(anchor.outputs[0]).type.dtype != DType::f32) return false;
  const ContractionSizes sizes = contraction_sizes(body, anchor);
  const Shape ones(sizes.kernel.size(), 1);
  return sizes.kernel == Shape{3, 3} && sizes.group == 1 && all_equal(anchor.attributes.get_ints("strides"), 1) &&
         all_equal(anchor.attributes.get_ints("dilations"), 1) && all_equal(anchor.attributes.get_ints("spread", ones), 1);
}

ContractionSchedule choose_contraction_schedule(const Graph& body, const Node& anchor, const Isa& isa,
                                                bool constant_weights, bool exact_math) {
  const ContractionSizes sizes = contraction_sizes(body, anchor);
  const int bytes = dtype_bits(body.value(anchor.outputs[0]).type.dtype) / 8;
  ContractionSchedule schedule{Algorithm::direct, choose_contraction_tile(isa, bytes, sizes.channels, sizes.pixels.back())};
  if (!constant_weights) return schedule;
  if (anchor.op == "Conv" && sizes.group > 1 && sizes.depth == 1 && sizes.channels == 1) {
    schedule.algorithm = Algorithm::depthwise;
  } else if (!exact_math && allows_winograd(body, anchor)) {
    const ContractionSchedule winograd = winograd_schedule(sizes, isa);
    if (winograd.tile.exact && winograd_cycles(sizes, winograd.tile) < direct_cycles(sizes, schedule.tile)) return winograd;
  }
  return schedule;
}

}  // namespace intarsia::halide
