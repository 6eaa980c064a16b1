// The register tile of a contraction: `pixels` neighbouring outputs by `panel` output channels, all
// accumulators in registers while the reduction runs innermost.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/halide/isa.h"

namespace intarsia::halide {

struct ContractionTile {
  int64_t lanes = 1;  // channels in one vector
  int64_t panel = 1;  // channels of the tile, a multiple of lanes, at most all of them
  int64_t pixels = 1;
  bool exact = true;  // panels divide the channels; otherwise the last one overlaps the one before
  bool operator==(const ContractionTile&) const = default;
};

/// The best tile of each width of panel for `channels` outputs (of a group) and rows of `width` pixels; by an analytic
/// estimate the fastest first.
std::vector<ContractionTile> rank_contraction_tiles(const Isa& isa, int element_bytes, int64_t channels, int64_t width);

}  // namespace intarsia::halide
