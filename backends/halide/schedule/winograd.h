// What the compile-time and the run-time part of Winograd's algorithm F(m x m, 3x3) share: its matrices
// (Lavin and Gray, 2016) and its blocking.
#pragma once

#include <array>
#include <vector>

#include "backends/halide/schedule/contraction_schedule.h"
#include "base/tensor_view.h"

namespace intarsia::halide {

/// F(m x m, 3x3), the same along both axes of a tile.
struct Winograd {
  int64_t outputs;                                // m: of a tile along an axis
  std::vector<std::vector<float>> input, output;  // points x points; outputs x points
  std::vector<std::array<double, 3>> weights;     // one row per point

  /// Inputs of a tile along an axis, and products.
  int64_t points() const { return outputs + 2; }
  int64_t tiles(int64_t pixels) const { return (pixels + outputs - 1) / outputs; }
};

bool is_winograd(ContractionSchedule::Algorithm algorithm);
const Winograd& winograd_of(ContractionSchedule::Algorithm algorithm);

/// Rows of tiles that are transformed together. If threads share rows, their transformed input stays in
/// the L2 cache, and each thread gets equally many blocks if possible; else all rows, so that
/// each thread reads its own panels of the weights once.
int64_t winograd_block_rows(const ContractionSizes& sizes, const ContractionSchedule& schedule, int threads);

/// Weights [outputs, inputs, 3, 3] (dense) as [outputs, inputs, points, points].
Tensor winograd_weights(const Tensor& weights, const Winograd& algorithm);

}  // namespace intarsia::halide
