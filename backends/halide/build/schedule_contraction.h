// Parts of a contraction pipeline and their schedules.
#pragma once

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/schedule/contraction_tile.h"

namespace intarsia::halide {

struct ContractionParts {
  ContractionTile tile;
  int threads = 1;
  bool threads_share_rows = true;  // threads take blocks of rows, otherwise panels
  bool lanes_apart =
      false;  // lanes of a panel are `panels` channels apart, so that neighbors are in neighboring panels
  int64_t group = 1, taps = 1;
  Dim channels = 1;         // output channels of a group
  Dim panels = 1;           // panels of a group
  Dim depth = 1;            // input channels of all groups
  int64_t depth_bytes = 0;  // bytes of one input pixel
  int64_t block_bytes = 0;  // limit of the input of a block of rows
  SymbolicShape batch_extents, pixel_extents;

  Var ci{"ci"}, co{"co"}, g{"g"};
  std::vector<Var> batch, pixels;
  Func out, acc, stage, pack;  // stage and pack are defined where they are needed
  // Where several work items compute a tile, each a slice of the reduction: the sum of a slice, in an item's
  // registers, and the same in the memory of the group, over which acc sums.
  TileSlices slices;
  Var slice{"slice"};
  Func slice_sum, slice_sums;
  std::vector<Var> stage_vars;  // channel first
  Func pad;  // copy that the stage is made of, if any: pad(pixel * channels + channel, ...)
  int64_t pad_channels = 1;
  Var pack_index{"k"};
  bool pack_reads_along_depth = false;  // neighbors along the depth lie side by side in memory
  RDom reduction;   // with dot products, neighbors along the depth first, apart from the rest of it
  int64_t dot = 1;  // neighbors along the depth whose products one instruction sums
  // Where the second matrix has integers, the reduction has those of a word, the words of a block and the
  // blocks apart, and `unpack`, if it is defined, has the numbers of a panel. With an open number of rows,
  // tiles of few have the sums `few`, which read the integers.
  MatMulAttributes integers;
  Func unpack, few;
  Func held;     // acc for outputs in vectors, where its sums are in general registers
  Func vectors;  // vectors of the input along the depth, if sums read them (depth_lanes), depth first
  Var unpack_step{"of_word"};
  bool on_amx = false;                  // sums are in tile registers (amx_products.h)
  int64_t output_lanes = 1;             // elements of the output that one vector of code computes at least
  bool calls_dot_tiles = false;         // functions sum a tile (dot_tiles.h)
  bool stack_is_large = true;           // copies of the input may lie on the stack
  bool sums_neighbors = false;          // products of neighbors are added at once (dsp_products.h)
  std::optional<EvenTiles> even_tiles;  // tiles of rows whose number is open

  Var channel{"channel"};  // channel of the output where panels do not divide the channels

  void name_vars();
  bool has_integers() const { return integers.block > 0; }
  /// Checks whether acc has an argument for the panel: where panels do not divide the channels, its lane
  /// counts all channels, unless their number is open. Then panels are filled up.
  bool has_panels() const { return tile.exact || !channels.is_number(); }
  /// Checks whether rows of a matrix, or pixels of a row, that nobody needs fill up tile registers: their
  /// number is open, or too small.
  bool fills_up_rows() const {
    const Dim& rows = pixel_extents.back();
    return on_amx && (!rows.is_number() || rows.number() < tile.pixels);
  }
  /// Returns the arguments of acc.
  std::vector<Var> inner_first() const;
  std::vector<Var> outer_first() const;  // arguments of out
};

/// Form of a copy of the input.
struct StageAs {
  Halide::Type type;
  std::optional<int64_t> channels = {};  // channels of the input, if zeros come after them
  bool in_pairs = false;                 // one instruction rounds two vectors of f32 to bf16
  int64_t block = 0;                     // channels of a block, if blocks of channels are the outermost axis
  bool for_words = false;                // neighbors along the depth are in the order of dsp_channel()
  int64_t more_pixels = 0;               // pixels of a row that are computed beyond those of the output

  /// Adds the block of channels to the axes of the copy, the channel first, and returns the channel that they
  /// name.
  Expr add_block(std::vector<Var>& axes) const;
  /// Returns the channel of the input that is read for a channel of the copy, `place`.
  Expr channel(const Expr& place) const;
  /// Returns the element of the copy, given what was read.
  Expr element(const Expr& value, const Expr& place) const;
};

/// Input of a convolution as its reduction reads it, at places counted from the first padded element: (batch,
/// channel, pixel axes...), if the last axis is unfolded (ConvAttributes) pixels of the output, then the
/// block of channels (StageAs), of which the channel is one.
struct StagedInput {
  Func func;  // undefined when the tensor is read as it is
  std::vector<Var> vars;
  std::function<Expr(const Exprs& at)> at;
  Func pad = Func();  // copy of which `func` is one; undefined if that is a copy of the tensor
};
/// Returns the tensor itself, or a copy with the padding (and the zeros of a dilated input) in it; a copy if
/// it is to have a form of its own. With Mapping::tile_per_item there is never a copy: the zeros of the
/// padding are selected where they are read.
StagedInput conv_input(KernelBuilder& builder, const Node& node, const Shape& kernel,
                       const std::optional<StageAs>& as = {});
/// Returns the tensor itself, never a copy: elements outside of the tensor are handled by a condition that
/// Halide hoists out of the loops over the inside.
StagedInput guard_conv_input(KernelBuilder& builder, const Node& node, const Shape& kernel);

/// Schedules tiles of pixels x panel in registers. As loops: panels outside of pixels, so that a panel's
/// weights stay in cache; blocks of rows outside of panels, so that the input does. As work items: the tiles
/// of a panel one after the other; where groups run side by side, neighbors have neighboring channels of the
/// same pixels. A last panel that would overhang starts earlier.
void schedule_contraction(const KernelBuilder& builder, ContractionParts& parts);

/// Returns the widths of tiles for rows of an open number of pixels, the widest first: each takes rows of at
/// least its width.
std::vector<int64_t> narrower_tiles(int64_t widest);

/// Returns the rows of a block where their number, 1 or more, is open: blocks of nearly equal size, of at
/// most `most` rows (or one), and at least one for each thread if there are as many rows.
Expr rows_of_equal_blocks(const Expr& rows, const Expr& most, int threads);

/// Matrix that is copied into panels: func(lane, step along the depth, panel, ...).
struct PackedMatrix {
  Func func;
  Var lane, step;
  Dim depth = 1;
  int lanes = 1;  // elements of a vector; a panel has this many columns or more
  bool reads_along_depth =
      false;  // neighbors along the depth lie side by side in memory, not those along the lanes
};
void schedule_pack(PackedMatrix pack);

}  // namespace intarsia::halide
