// 3x3 convolution by Winograd's minimal filtering F(m x m, 3x3): computes tiles of m x m outputs from (m+2) x
// (m+2) points, with one small matrix product per point instead of 9 multiply-adds per output. Source: A.
// Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2016. Weights are transformed at
// compile time.
#include <algorithm>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/schedule_contraction.h"
#include "backends/halide/schedule/winograd.h"

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;

using Matrix = std::vector<std::vector<float>>;

/// Multiplies a row of a transform's matrix by a column of expressions.
Expr product(const std::vector<float>& row, const Exprs& column) {
  Expr sum;
  for (size_t i = 0; i < column.size(); ++i) {
    const float factor = row[i];
    if (factor == 0) continue;
    Expr term = factor == 1 ? column[i] : factor == -1 ? -column[i] : column[i] * factor;
    sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

/// Multiplies a row of `matrix` by a column; `row` is a variable that will be unrolled, and each of its
/// values has its own expression.
Expr transformed(const Matrix& matrix, Expr row, const Exprs& column) {
  Exprs values;
  for (const std::vector<float>& factors : matrix) values.push_back(product(factors, column));
  return Halide::mux(row, values);
}

class WinogradBuilder {
 public:
  explicit WinogradBuilder(KernelBuilder& b)
      : b_(b),
        node_(b.anchor()),
        out_(b.sizes(node_.outputs[0])),
        in_(b.sizes(node_.inputs[0])),
        depth_size_(in_[1].number()),
        depth_lanes_(as_int(depth_lanes(b.isa(), depth_size_))),
        winograd_(winograd_of(b.kernel().contraction().schedule.algorithm)),
        tile_(b.kernel().contraction().schedule.tile),
        outputs_(as_int(winograd_.outputs)),
        points_(as_int(winograd_.points())),
        is_open_(!out_[2].is_number() || !out_[3].is_number()),
        tiles_x_(b.size(ceil_div(out_[3], outputs_))),
        tiles_y_(b.size(ceil_div(out_[2], outputs_))) {
    const ContractionSchedule& schedule = b.kernel().contraction().schedule;
    const ContractionSizes sizes{.depth = depth_size_, .pixels = {typical(out_[2]), typical(out_[3])}};
    const int64_t rows = winograd_block_rows(sizes, schedule, b.kernel().threads),
                  all_rows = winograd_.tiles(sizes.pixels[0]);
    is_one_block_ = rows == all_rows;
    blocks_per_thread_ = all_rows / rows >= b.kernel().threads;
    block_rows_ = is_open_ ? open_block_rows(schedule) : Expr(as_int(rows));
  }

  BuiltKernel build() {
    pad();
    transform_input();
    multiply();
    transform_output();
    schedule();
    return b_.finish(output_, panel_argument());
  }

 private:
  /// Returns the rows of tiles of a block where the size of pictures is open.
  Expr open_block_rows(const ContractionSchedule& schedule) const {
    if (!schedule.threads_share_rows) return tiles_y_;
    const int most = as_int(std::max<int64_t>(winograd_block_tiles(schedule.algorithm, depth_size_), 1));
    return rows_of_equal_blocks(tiles_y_, most / tiles_x_, b_.kernel().threads);
  }

  /// Pads the input and extends it to whole tiles.
  void pad() {
    const SymbolicShape pads = attributes_of<ConvAttributes>(node_).pads;
    Expr y = y_ - b_.size(pads[0]), x = x_ - b_.size(pads[1]);
    Expr inside = y >= 0 && y < b_.size(in_[2]) && x >= 0 && x < b_.size(in_[3]);
    Exprs at{n_, c_, Halide::clamp(y, 0, b_.size(in_[2] - 1)), Halide::clamp(x, 0, b_.size(in_[3] - 1))};
    padded_(c_, x_, y_, n_) = Halide::select(inside, b_.operand(node_.inputs[0]).at(at), 0.0f);
  }

  void transform_input() {
    Expr first_x = t_ % tiles_x_ * outputs_, first_y = t_ / tiles_x_ * outputs_;
    Exprs column, row;
    for (int i = 0; i < points_; ++i) column.push_back(padded_(c_, first_x + kx_, first_y + i, n_));
    columns_(c_, kx_, ky_, t_, n_) = transformed(winograd_.input, ky_, column);
    for (int i = 0; i < points_; ++i) row.push_back(columns_(c_, i, ky_, t_, n_));
    input_(c_, t_, kx_, ky_, n_) = transformed(winograd_.input, kx_, row);
  }

  void multiply() {
    depth_ = RDom(0, as_int(depth_size_), "r");
    Exprs weight{0, co_, ky_, kx_, depth_, ci_};
    vectors_(c_, t_, kx_, ky_, n_) = input_(c_, t_, kx_, ky_, n_);
    const Func& input = depth_lanes_ > 1 ? vectors_ : input_;
    acc_(ci_, t_, kx_, ky_, co_, n_) = 0.0f;
    acc_(ci_, t_, kx_, ky_, co_, n_) +=
        b_.operand(node_.inputs[1]).at(weight) * input(depth_, t_, kx_, ky_, n_);
    products_(ci_, t_, kx_, ky_, co_, n_) = acc_(ci_, t_, kx_, ky_, co_, n_);
  }

  void transform_output() {
    Exprs column, row;
    for (int i = 0; i < points_; ++i) column.push_back(products_(ci_, t_, kx_, i, co_, n_));
    rows_(ci_, kx_, dy_, t_, co_, n_) = transformed(winograd_.output, dy_, column);
    Expr tile = y_ / outputs_ * tiles_x_ + x_ / outputs_;
    for (int i = 0; i < points_; ++i) row.push_back(rows_(ci_, i, y_ % outputs_, tile, co_, n_));
    Expr value = transformed(winograd_.output, x_ % outputs_, row);
    Exprs at{n_, co_ * as_int(tile_.panel) + ci_, y_, x_};
    output_(n_, co_, y_, x_, ci_) = stored(b_.result_at(at, value));
  }

  void schedule() {
    const int lanes = as_int(tile_.lanes), panel = as_int(tile_.panel);
    const Expr block_tiles = block_rows_ * tiles_x_;
    Var block("block"), rest("rest"), yt("yt"), yi("yi"), xt("xt"), xi("xi"), cv("cv"), cl("cl"), to("to"),
        ti("ti");
    output_.bound(ci_, 0, panel)
        .split(y_, block, rest, block_rows_ * outputs_, TailStrategy::GuardWithIf)
        .split(rest, yt, yi, outputs_, TailStrategy::GuardWithIf)
        .split(x_, xt, xi, outputs_, TailStrategy::GuardWithIf)
        .split(ci_, cv, cl, lanes)
        .reorder(cl, xi, yi, cv, xt, yt, co_, block, n_)
        .vectorize(cl)
        .unroll(xi)
        .unroll(yi);
    rows_.compute_at(output_, cv)
        .reorder_storage(ci_, kx_, dy_)
        .vectorize(ci_, lanes)
        .unroll(kx_)
        .unroll(dy_);

    products_.compute_at(output_, co_).bound_extent(ci_, panel);
    // The points of a tile lie side by side where the number of tiles is open, so that distances between them
    // are numbers.
    if (is_open_)
      products_.reorder_storage(ci_, kx_, ky_, t_, co_, n_);
    else
      products_.bound_extent(t_, block_tiles);
    products_.bound(kx_, 0, points_).bound(ky_, 0, points_);
    schedule_tiles_of_block(block_tiles, to, ti);
    acc_.compute_at(products_, to).reorder(ci_, t_).vectorize(ci_, lanes).unroll(ci_).unroll(t_);
    acc_.update().reorder(ci_, t_, depth_).vectorize(ci_, lanes).unroll(ci_).unroll(t_);
    if (depth_lanes_ > 1) schedule_vectors();
    schedule_input(block, block_tiles);
    if (b_.kernel().threads > 1) output_.parallel(blocks_per_thread_ ? block : co_);
  }

  /// Reads vectors of the transformed input along the depth.
  void schedule_vectors() {
    const RVar steps("steps"), step("step");
    acc_.update().split(depth_, steps, step, depth_lanes_).reorder(ci_, t_, step, steps).unroll(step);
    vectors_.compute_at(acc_, steps)
        .vectorize(c_, depth_lanes_)
        .unroll(t_)
        .store_in(Halide::MemoryType::Stack);
  }

  /// Schedules the products in tiles, even ones where the number of tiles of a block is open.
  void schedule_tiles_of_block(const Expr& block_tiles, const Var& to, const Var& ti) {
    if (!is_open_) return split_tiles(products_, tile_.pixels, to, ti, TailStrategy::ShiftInwards);
    const int64_t most = std::min(tile_.pixels, widest_even_tile);
    for_each_tile(products_, tile_of(block_tiles, most), most, [&](Halide::Stage products, int64_t size) {
      split_tiles(products, size, to, ti, TailStrategy::RoundUp);
    });
  }

  void split_tiles(Halide::Stage products, int64_t size, const Var& to, const Var& ti,
                   TailStrategy tail) const {
    products.split(t_, to, ti, as_int(size), tail)
        .reorder(ci_, ti, to, kx_, ky_)
        .vectorize(ci_, as_int(tile_.lanes))
        .unroll(ci_)
        .unroll(ti);
  }

  /// Schedules the transform of the input. Where threads take panels, all of them transform it first, a row
  /// of tiles at a time.
  void schedule_input(const Var& block, const Expr& block_tiles) {
    const int lanes = vector_factor(depth_size_, as_int(tile_.lanes));
    const bool threads_share_panels = b_.kernel().threads > 1 && is_one_block_;
    Var co("c_outer"), ci("c_inner"), row("tile_row"), column("tile_column");
    input_.compute_at(output_, block).bound(kx_, 0, points_).bound(ky_, 0, points_);
    if (is_open_)
      input_.reorder_storage(c_, kx_, ky_, t_, n_);
    else
      input_.bound_extent(t_, block_tiles);
    input_.bound(c_, 0, as_int(depth_size_))
        .split(c_, co, ci, lanes, TailStrategy::ShiftInwards)
        .split(t_, row, column, tiles_x_, is_open_ ? TailStrategy::GuardWithIf : TailStrategy::Auto)
        .reorder(ci, kx_, ky_, co, column, row)
        .vectorize(ci)
        .unroll(kx_)
        .unroll(ky_);
    if (threads_share_panels) input_.parallel(row);
    columns_.compute_at(input_, co).vectorize(c_, lanes).unroll(kx_).unroll(ky_);
    if (threads_share_panels)
      padded_.compute_at(input_, row);
    else
      padded_.compute_at(output_, block);
    padded_.vectorize(c_, lanes, TailStrategy::ShiftInwards);
  }

  /// Returns the output with its channel axis in panels, as the kernel's index space has it.
  Argument panel_argument() const {
    const Argument& from = b_.output();
    const int64_t panel = tile_.panel;
    const Dim& step = from.strides[1];
    return {from.dtype,
            {from.shape[0], from.shape[1].number() / panel, from.shape[2], from.shape[3], panel},
            {from.strides[0], step * panel, from.strides[2], from.strides[3], step}};
  }

  KernelBuilder& b_;
  const Node& node_;
  SymbolicShape out_, in_;
  int64_t depth_size_;
  int depth_lanes_;
  const Winograd& winograd_;
  ContractionTile tile_;
  int outputs_, points_;  // numbers of a tile along an axis
  bool is_open_;          // whether the size of pictures is open
  Expr tiles_x_, tiles_y_, block_rows_;
  bool is_one_block_ = false, blocks_per_thread_ = false;  // of typical pictures

  // Variables: channel, pixel, batch; place in the transform; tile; lane and panel of output channels; row in
  // a tile.
  Var c_{"c"}, x_{"x"}, y_{"y"}, n_{"n"}, kx_{"kx"}, ky_{"ky"}, t_{"t"}, ci_{"ci"}, co_{"co"}, dy_{"dy"};
  RDom depth_;
  Func padded_{"padded"}, columns_{"columns"}, input_{"input"}, vectors_{"vectors"}, acc_{"acc"},
      products_{"products"}, rows_{"rows"}, output_{"out"};
};

}  // namespace

BuiltKernel build_winograd(KernelBuilder& builder) { return WinogradBuilder(builder).build(); }

}  // namespace intarsia::halide
