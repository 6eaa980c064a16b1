// Register tile of a contraction: `pixels` neighboring outputs of `rows` neighboring rows by `panel` output
// channels, all accumulators in registers while the reduction runs innermost.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/halide/schedule/isa.h"

namespace intarsia::halide {

struct ContractionTile {
  int64_t lanes = 1;  // channels in one vector
  int64_t panel = 1;  // channels of the tile, a multiple of lanes, at most all of them
  int64_t pixels = 1;
  bool exact = true;  // panels divide the channels; otherwise the last one overlaps the one before
  int64_t rows = 1;   // rows of a picture; more than one on tile registers only
  bool operator==(const ContractionTile&) const = default;
};

/// Rows of tiles that dequantize a second matrix of integers where they read it.
inline constexpr int64_t few_rows = 4;

/// Prints pixels, panel and lanes: "14 x 16 of 16"; several rows come first: "2 x 16 x 32 of 16".
std::string print_tile(const ContractionTile& tile);

/// Rows, or tiles of a row, in blocks of equal size; the last block starts earlier where the size does not
/// divide them.
struct RowBlocks {
  int64_t blocks = 1;
  int64_t rows = 1;  // rows of a block
};

/// Chooses blocks whose input, `row_bytes` per row, is at most `block_bytes` (Isa::block_bytes); equally many
/// for each thread if there are two rows for each. Among these, takes the ones that repeat the fewest rows.
RowBlocks choose_row_blocks(int64_t rows, int64_t row_bytes, int64_t block_bytes, int threads);

/// Row of pixels that tiles cover.
struct PixelRow {
  int64_t width = 1;
  bool in_blocks = false;   // whether it is the only row, with its tiles distributed in blocks
  int64_t pixel_bytes = 0;  // input bytes of a pixel
  int64_t block_bytes = 0;  // limit of a block's input
  int threads = 1;
  double weight_cycles = 0.5;  // cycles that a vector of weights takes before it is multiplied
  int64_t depth = 1;           // input channels of a group of the convolution, without taps
  bool reads_vectors = false;  // tiles read vectors of the input along the depth
  int64_t rows = 1;            // such rows, over all other axes; only used where groups run side by side

  RowBlocks tile_blocks(int64_t pixels) const;
  /// Returns the number of tiles that are computed, including repeated ones.
  int64_t tiles(int64_t pixels) const;
};

/// Number of work items that compute a tile where groups run side by side, each a slice of the reduction, and
/// number of neighboring tiles that a group has. Without slices, tiles of any place form a group.
struct TileSlices {
  int64_t slices = 1;
  int64_t tiles = 1;
};
TileSlices slice_tile(const ContractionTile& tile, int64_t channels, const PixelRow& row);

/// Returns the elements of f32, along the depth, of a vector of the input by which a register tile multiplies
/// one after the other; 1 if it reads single elements.
int64_t depth_lanes(const Isa& isa, int64_t depth);

/// Returns the best tile of each width of panel for `channels` outputs (of a group), the fastest first by an
/// analytic estimate.
std::vector<ContractionTile> rank_contraction_tiles(const Isa& isa, int element_bytes, int64_t channels,
                                                    const PixelRow& row);

/// Estimates the cycles of all tiles for one step of the reduction.
double contraction_tile_cycles(const Isa& isa, int element_bytes, const ContractionTile& tile,
                               int64_t channels, const PixelRow& row);

}  // namespace intarsia::halide
