#include "backends/halide/schedule/winograd.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

using Algorithm = ContractionSchedule::Algorithm;

/// Matrices for the interpolation points 0, 1, -1, 2, -2 and infinity.
const Winograd four_by_four{
    .outputs = 4,
    .input = {{4, 0, -5, 0, 1, 0},
              {0, -4, -4, 1, 1, 0},
              {0, 4, -4, -1, 1, 0},
              {0, -2, -1, 2, 1, 0},
              {0, 2, -1, -2, 1, 0},
              {0, 4, 0, -5, 0, 1}},
    .output = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
    .weights = {{1.0 / 4, 0, 0},
                {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                {1.0 / 24, 1.0 / 12, 1.0 / 6},
                {1.0 / 24, -1.0 / 12, 1.0 / 6},
                {0, 0, 1}}};

/// Matrices for the interpolation points 0, 1, -1 and infinity.
const Winograd two_by_two{.outputs = 2,
                          .input = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                          .output = {{1, 1, 1, 0}, {0, 1, -1, -1}},
                          .weights = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};

/// Computes weights * from * transposed weights for one pair of channels.
void transform(const Winograd& algorithm, const float* from, float* to) {
  for (const std::array<double, 3>& left : algorithm.weights)
    for (const std::array<double, 3>& right : algorithm.weights) {
      double sum = 0;
      for (size_t j = 0; j < 3; ++j)
        for (size_t k = 0; k < 3; ++k) sum += left[j] * static_cast<double>(from[3 * j + k]) * right[k];
      *to++ = static_cast<float>(sum);
    }
}

}  // namespace

bool is_winograd(Algorithm algorithm) {
  return algorithm == Algorithm::winograd_2x2 || algorithm == Algorithm::winograd_4x4;
}

const Winograd& winograd_of(Algorithm algorithm) {
  return algorithm == Algorithm::winograd_2x2 ? two_by_two : four_by_four;
}

int64_t winograd_block_tiles(Algorithm algorithm, int64_t depth) {
  constexpr int64_t cache_bytes = 512 * 1024;
  const int64_t points = winograd_of(algorithm).points();
  return cache_bytes / (points * points * depth * static_cast<int64_t>(sizeof(float)));
}

int64_t winograd_block_rows(const ContractionSizes& sizes, const ContractionSchedule& schedule, int threads) {
  const Winograd& winograd = winograd_of(schedule.algorithm);
  const int64_t tiles_y = winograd.tiles(sizes.pixels[0]), tiles_x = winograd.tiles(sizes.pixels[1]);
  if (!schedule.threads_share_rows) return tiles_y;
  const int64_t most = winograd_block_tiles(schedule.algorithm, sizes.depth);
  int64_t rows = 1;
  for (int64_t r = 2; r <= tiles_y; ++r)
    if (tiles_y % r == 0 && tiles_y / r % threads == 0 && r * tiles_x <= most) rows = r;
  return rows;
}

Tensor winograd_weights(const Tensor& weights, const Winograd& algorithm) {
  const Shape& shape = weights.shape();
  const int64_t points = algorithm.points();
  Tensor result(DType::f32, {shape[0], shape[1], points, points});
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i)
    transform(algorithm, weights.as<float>().data() + 9 * i, result.as<float>().data() + points * points * i);
  return result;
}

}  // namespace intarsia::halide
