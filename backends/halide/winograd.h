// What the compile-time and the run-time part of F(4x4, 3x3) share: its matrices (interpolation points 0, 1, -1,
// 2, -2 and infinity; Lavin and Gray, 2016) and its blocking.
#pragma once

#include <array>
#include <cstdint>

#include "base/tensor_view.h"

namespace intarsia::halide {

constexpr int64_t winograd_tile = 4;   // outputs of a tile along an axis
constexpr int64_t winograd_points = 6;  // inputs of a tile along an axis, and products

constexpr std::array<std::array<float, 6>, 6> winograd_input{{{4, 0, -5, 0, 1, 0},
                                                              {0, -4, -4, 1, 1, 0},
                                                              {0, 4, -4, -1, 1, 0},
                                                              {0, -2, -1, 2, 1, 0},
                                                              {0, 2, -1, -2, 1, 0},
                                                              {0, 4, 0, -5, 0, 1}}};
constexpr std::array<std::array<float, 6>, 4> winograd_output{
    {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};

/// Rows of tiles that are transformed together: their transformed input stays in the second-level cache, and a
/// weight that was loaded serves many tiles.
int64_t winograd_block_rows(int64_t tiles_x, int64_t tiles_y, int64_t depth);

/// Weights [outputs, inputs, 3, 3] (dense) as [outputs, inputs, 6, 6].
Tensor winograd_weights(const Tensor& weights);

}  // namespace intarsia::halide
