// Matrices of Winograd's algorithm F(m x m, 3x3) (Lavin and Gray, 2016) and its blocking, which its
// compile-time and run-time parts share.
#pragma once

#include <array>
#include <vector>

#include "backends/halide/schedule/contraction_schedule.h"
#include "base/tensor_view.h"

namespace intarsia::halide {

/// F(m x m, 3x3), the same along both axes of a tile.
struct Winograd {
  int64_t outputs;                                // m: outputs of a tile along an axis
  std::vector<std::vector<float>> input, output;  // points x points; outputs x points
  std::vector<std::array<double, 3>> weights;     // rows: one per point

  /// Returns the number of inputs of a tile along an axis, and of products.
  int64_t points() const { return outputs + 2; }
  int64_t tiles(int64_t pixels) const { return (pixels + outputs - 1) / outputs; }
};

bool is_winograd(ContractionSchedule::Algorithm algorithm);
const Winograd& winograd_of(ContractionSchedule::Algorithm algorithm);

/// Returns the number of rows of tiles that are transformed together. If threads share rows, their
/// transformed input stays in the L2 cache, and each thread gets equally many blocks if possible; else all
/// rows, so that each thread reads its own panels of the weights once.
int64_t winograd_block_rows(const ContractionSizes& sizes, const ContractionSchedule& schedule, int threads);

/// Returns the number of tiles whose transformed input of `depth` channels stays in the L2 cache.
int64_t winograd_block_tiles(ContractionSchedule::Algorithm algorithm, int64_t depth);

/// Transforms weights [outputs, inputs, 3, 3] (dense) to [outputs, inputs, points, points].
Tensor winograd_weights(const Tensor& weights, const Winograd& algorithm);

}  // namespace intarsia::halide
