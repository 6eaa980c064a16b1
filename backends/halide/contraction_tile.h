// The register tile of a contraction: `pixels` neighbouring outputs by `panel` output channels, all
// accumulators in registers while the reduction runs innermost.
#pragma once

#include <cstdint>

#include "backends/halide/isa.h"

namespace intarsia::halide {

struct ContractionTile {
  int64_t lanes = 1;  // channels in one vector
  int64_t panel = 1;  // channels of the tile, a multiple of lanes
  int64_t pixels = 1;
  bool exact = true;  // panels divide the channels; otherwise the last one is filled up
};

/// The analytic first choice for `channels` outputs (of a group) and rows of `width` pixels.
ContractionTile choose_contraction_tile(const Isa& isa, int element_bytes, int64_t channels, int64_t width);

}  // namespace intarsia::halide
