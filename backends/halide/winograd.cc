#include "backends/halide/winograd.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

constexpr double weight_matrix[6][3] = {{1.0 / 4, 0, 0},
                                        {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                        {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                        {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                        {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                        {0, 0, 1}};

void transform(const float* from, float* to) {
  double half[6][3];
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 3; ++j) {
      half[i][j] = 0;
      for (int k = 0; k < 3; ++k) half[i][j] += weight_matrix[i][k] * static_cast<double>(from[3 * k + j]);
    }
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      double sum = 0;
      for (int k = 0; k < 3; ++k) sum += half[i][k] * weight_matrix[j][k];
      to[6 * i + j] = static_cast<float>(sum);
    }
}

}  // namespace

int64_t winograd_block_rows(int64_t tiles_x, int64_t tiles_y, int64_t depth) {
  constexpr int64_t cache_bytes = 512 * 1024;
  const int64_t row_bytes = winograd_points * winograd_points * tiles_x * depth * 4;
  int64_t rows = 1;
  for (int64_t r = 2; r <= tiles_y; ++r)
    if (tiles_y % r == 0 && r * row_bytes <= cache_bytes) rows = r;
  return rows;
}

Tensor winograd_weights(const Tensor& weights) {
  const Shape& shape = weights.shape();
  Tensor result(DType::f32, {shape[0], shape[1], winograd_points, winograd_points});
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i)
    transform(weights.as<float>().data() + 9 * i, result.as<float>().data() + 36 * i);
  return result;
}

}  // namespace intarsia::halide
