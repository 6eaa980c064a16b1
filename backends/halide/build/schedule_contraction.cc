#include "backends/halide/build/schedule_contraction.h"

#include <algorithm>

#include "backends/halide/build/dsp_products.h"
#include "backends/halide/build/run_tiles.h"
#include "backends/halide/schedule/amx_schedule.h"

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;
using Halide::VarOrRVar;

/// Steps of the reduction that are unrolled: loads of a work item that are on their way at the same time, or
/// elements of a vector of the input.
constexpr int steps_at_once = 4;
/// Words of integers whose products are unrolled: addresses and counters are then computed half as often.
constexpr int words_at_once = 2;

void vectorize_lanes(Halide::Stage stage, const ContractionParts& p, int64_t lanes) {
  if (lanes > 1) stage.vectorize(p.ci, as_int(lanes));
  if (p.tile.panel > lanes) stage.unroll(p.ci);
}

/// Leaves sums to multiply_on_amx() or call_dot_tiles().
void schedule_plain_loops(ContractionParts& p, Func acc) {
  std::vector<VarOrRVar> order{p.reduction[0], p.reduction[1], p.ci, p.pixels.back()};
  if (p.tile.rows > 1) order.emplace_back(p.pixels[p.pixels.size() - 2]);
  for (int i = 2; i < p.reduction.dimensions(); ++i) order.emplace_back(p.reduction[i]);
  acc.store_in(Halide::MemoryType::Stack).update().reorder(order);
}

/// Unrolls `count` steps of a dimension of the reduction. Returns the loop over the others.
RVar unroll_steps(const ContractionParts& p, Func acc, int dimension, int count,
                  std::vector<VarOrRVar>& order) {
  const RVar steps("steps"), step("step");
  acc.update().split(p.reduction[dimension], steps, step, count).unroll(step);
  const auto place = order.end() - p.reduction.dimensions() + dimension;
  *place = step;
  order.insert(place + 1, steps);
  return steps;
}

/// Reads vectors of the input along the depth at once.
void read_vectors(ContractionParts& p, Func acc, const RVar& steps) {
  const size_t of_pixels = p.reduction.dimensions();
  p.vectors.compute_at(acc, steps)
      .vectorize(p.vectors.args()[0], steps_at_once)
      .unroll(p.vectors.args()[of_pixels])
      .store_in(Halide::MemoryType::Stack);
}

/// Schedules sums of a tile in registers: the tile innermost, then the reduction.
void schedule_accumulators(ContractionParts& p, Func acc) {
  if (p.on_amx) return schedule_plain_loops(p, acc);
  Var x = p.pixels.back();
  acc.reorder(p.ci, x);
  const int64_t lanes = p.sums_neighbors ? 1 : p.tile.lanes;
  vectorize_lanes(acc, p, lanes);
  acc.unroll(x);
  if (p.calls_dot_tiles) return schedule_plain_loops(p, acc);
  std::vector<VarOrRVar> order{p.ci, x};
  for (int i = 0; i < p.reduction.dimensions(); ++i) order.emplace_back(p.reduction[i]);
  const int64_t depth = p.depth.is_number() ? p.depth.number() / p.group / p.slices.slices : 1;
  if (p.vectors.defined())
    read_vectors(p, acc, unroll_steps(p, acc, 0, steps_at_once, order));
  else if (p.lanes_apart && !p.has_integers() && depth % steps_at_once == 0)
    unroll_steps(p, acc, 0, steps_at_once, order);
  else if (p.sums_neighbors && p.dot == dsp_integers && depth % (words_at_once * dsp_integers) == 0)
    unroll_steps(p, acc, 1, words_at_once, order);
  if (p.dot > 1 && !p.sums_neighbors) {
    std::ranges::rotate(order.begin(), order.begin() + 2, order.begin() + 3);
    acc.update().atomic().reorder(order).vectorize(p.reduction[0]);
  } else {
    acc.update().reorder(order);
  }
  vectorize_lanes(acc.update(), p, lanes);
  acc.update().unroll(x);
  if (p.has_integers()) acc.update().unroll(p.reduction[0]);
}

void schedule_stage(ContractionParts& p, Halide::LoopLevel level, int lanes, int64_t channels) {
  if (!p.stage.defined()) return;
  if (p.pad.defined()) {
    const Var place = p.pad.args()[0], pixel("pixel"), channel("channel");
    const int of_pixel = as_int(p.pad_channels);
    p.pad.compute_at(level)
        .align_bounds(place, of_pixel)
        .split(place, pixel, channel, of_pixel)
        .unroll(channel);
  }
  p.stage.compute_at(level);
  if (!p.stack_is_large) p.stage.store_in(Halide::MemoryType::Heap);
  if (p.sums_neighbors) {
    const Var several("several"), neighbor("neighbor");
    const int dot = as_int(p.dot);
    p.stage.align_bounds(p.stage_vars[0], dot).split(p.stage_vars[0], several, neighbor, dot);
    p.held.defined() ? p.stage.vectorize(neighbor) : p.stage.unroll(neighbor);
    return;
  }
  int factor = vector_factor(channels, lanes);
  if (factor > 1) p.stage.vectorize(p.stage_vars[0], factor, TailStrategy::ShiftInwards);
}

/// Checks whether the multiply-adds are worth a second thread.
bool worth_threads(const ContractionParts& p) {
  const int64_t outputs = element_count(typical_shape(p.batch_extents)) *
                          element_count(typical_shape(p.pixel_extents)) * typical(p.channels) * p.group;
  return p.threads > 1 && outputs * p.taps * (typical(p.depth) / p.group) > 100000;
}

}  // namespace

std::vector<int64_t> narrower_tiles(int64_t widest) {
  std::vector<int64_t> tiles{widest};
  for (int64_t t = 1; t < widest; t *= 2) tiles.insert(tiles.begin() + 1, t);
  return tiles;
}

Expr rows_of_equal_blocks(const Expr& rows, const Expr& most, int threads) {
  const Expr limit = Halide::max(most, 1);
  const Expr blocks = Halide::max((rows + limit - 1) / limit, Halide::min(rows, threads));
  return (rows + blocks - 1) / blocks;
}

void ContractionParts::name_vars() {
  batch = make_vars(batch_extents.size(), "n");
  pixels = make_vars(pixel_extents.size(), "x");
}

std::vector<Var> ContractionParts::inner_first() const {
  std::vector<Var> vars{ci};
  vars.insert(vars.end(), pixels.rbegin(), pixels.rend());
  if (has_panels()) vars.push_back(co);
  if (group > 1) vars.push_back(g);
  vars.insert(vars.end(), batch.rbegin(), batch.rend());
  return vars;
}

std::vector<Var> ContractionParts::outer_first() const {
  std::vector<Var> vars = batch;
  if (group > 1) vars.push_back(g);
  if (tile.exact) vars.push_back(co);
  vars.insert(vars.end(), pixels.begin(), pixels.end());
  vars.push_back(tile.exact ? ci : channel);
  return vars;
}

// Uses four elements per vector where they are not contiguous: wide gathers take several times as long,
// vectors along the depth and single stores twice as long.
void schedule_pack(PackedMatrix pack) {
  Var outer("outer"), inner("inner"), steps("steps"), step("step");
  const int lanes = pack.reads_along_depth ? std::min(pack.lanes, 4) : pack.lanes;
  const int unrolled = pack.depth.is_number() ? vector_factor(pack.depth.number(), 8) : 1;
  pack.func.split(pack.lane, outer, inner, lanes, TailStrategy::ShiftInwards)
      .split(pack.step, steps, step, unrolled, TailStrategy::ShiftInwards)
      .reorder(inner, step, outer, steps)
      .vectorize(inner)
      .unroll(step);
}

namespace {

/// Schedule of the loops of a processor. Where the number of rows is open, even tiles cover them; if the
/// second matrix is packed at run time, there is a variant of the code for a whole tile of rows or more, and
/// one for each smaller number.
class ContractionLoops {
 public:
  ContractionLoops(const KernelBuilder& b, ContractionParts& p) : b_(b), p_(p), x_(p.pixels.back()) {
    while (rows_axis_ + 1 < p.pixels.size() && p.pixel_extents[rows_axis_] == 1) ++rows_axis_;
    threads_of_rows_ = p.threads_share_rows ? p.threads : 1;
  }

  void apply() {
    if (p_.fills_up_rows() && rows_axis_ + 1 == p_.pixels.size())
      schedule_filled_rows();
    else if (p_.pixel_extents.back().is_number())
      schedule_tiles(p_.out, p_.tile.pixels);
    else if (rows_axis_ + 1 == p_.pixels.size())
      schedule_open_rows();
    else
      schedule_open_pictures();
    p_.acc.compute_at(p_.out, xo_);
    schedule_accumulators(p_, p_.acc);
    if (p_.held.defined()) p_.held.compute_at(p_.out, xo_).reorder(p_.ci, x_).unroll(p_.ci).unroll(x_);
    if (p_.few.defined()) {
      p_.few.compute_at(p_.out, xo_);
      schedule_accumulators(p_, p_.few);
    }
    if (p_.unpack.defined()) schedule_unpack();
    if (p_.pack.defined()) {
      schedule_pack({p_.pack, p_.ci, p_.pack_index, floor_div(p_.depth, p_.dot), as_int(p_.tile.lanes),
                     p_.pack_reads_along_depth});
      if (p_.batch.empty())
        p_.pack.compute_root();
      else
        p_.pack.compute_at(p_.out, p_.batch.back());
    }
    const int lanes = as_int(p_.tile.lanes) * (p_.on_amx ? 2 : 1);
    const int64_t channels = p_.on_amx ? amx_tile * p_.dot : typical(p_.depth);
    schedule_stage(p_, Halide::LoopLevel(p_.out, block_), lanes, channels);
  }

 private:
  /// Schedules the numbers of a panel, which all tiles of a block of rows read.
  void schedule_unpack() {
    p_.unpack.compute_at(p_.out, p_.co).bound_extent(p_.ci, as_int(p_.tile.panel)).unroll(p_.unpack_step);
    vectorize_lanes(p_.unpack, p_, p_.tile.lanes);
  }

  /// Schedules blocks of whole tiles, of which the last computes rows that nobody needs.
  void schedule_filled_rows() {
    const int64_t t = p_.tile.pixels;
    const Expr rows = b_.size(p_.pixel_extents.back()), tiles = (rows + as_int(t - 1)) / as_int(t);
    const int threads = worth_threads(p_) ? threads_of_rows_ : 1;
    const Expr most = as_int(std::max<int64_t>(p_.block_bytes / std::max<int64_t>(t * p_.depth_bytes, 1), 2));
    blocks_ = threads;
    p_.acc.bound_extent(x_, as_int(t));
    split_channels(p_.out);
    p_.out
        .split(x_, block_, rest_, rows_of_equal_blocks(tiles, most, threads) * as_int(t),
               TailStrategy::GuardWithIf)
        .split(rest_, xo_, xi_, as_int(t), TailStrategy::RoundUp);
    finish(p_.out, {p_.ci, xi_, xo_});
  }

  void schedule_open_rows() {
    const Expr rows = b_.size(p_.pixel_extents.back());
    if (!p_.pack.defined()) return schedule_even_rows(rows);
    schedule_tiles(p_.out.specialize(rows >= as_int(p_.tile.pixels)), p_.tile.pixels);
    for (int64_t few = 2; few < p_.tile.pixels; ++few)
      schedule_few(p_.out.specialize(rows == as_int(few)), few);
    schedule_few(p_.out, 1);
  }

  /// Schedules tiles of each size, of which a call uses one; with several threads, those of many rows apart.
  void schedule_even_rows(const Expr& rows) {
    if (!p_.even_tiles) p_.even_tiles.emplace(rows, p_.tile.pixels);
    const EvenTiles& even = *p_.even_tiles;
    const int threads = worth_threads(p_) ? threads_of_rows_ : 1;
    even.for_each(p_.out, x_, [&](Halide::Stage out, int64_t t) {
      if (threads > 1 && even.may_be_many(t))
        schedule_even_tiles(out.specialize(even.count >= as_int(2 * threads * t)), t, threads);
      if (p_.few.defined() && t == 1) {
        // Each variant must know its tile, by which one of the sums is chosen.
        schedule_even_tiles(p_.out.specialize(even.tile == 1), t, 1);
        p_.out.specialize_fail("a tile has 1 row or more");
        return;
      }
      schedule_even_tiles(out, t, 1);
    });
  }

  /// Schedules tiles of `t` rows, which are a multiple of `t`, in blocks that `threads` threads take.
  void schedule_even_tiles(Halide::Stage out, int64_t t, int threads) {
    split_channels(out);
    const Expr tiles = p_.even_tiles->count / as_int(t);
    const int64_t most = std::max(p_.block_bytes / std::max<int64_t>(t * p_.depth_bytes, 1), int64_t{2});
    const Expr blocks = Halide::max((tiles + as_int(most - 1)) / as_int(most), threads);
    blocks_ = threads;
    out.split(x_, rest_, xi_, as_int(t), TailStrategy::RoundUp)
        .split(rest_, block_, xo_, (tiles + blocks - 1) / blocks, TailStrategy::ShiftInwards);
    finish(out, {p_.ci, xi_, xo_});
  }

  /// Schedules tiles of each number of pixels of a row, of which a call uses one.
  void schedule_open_pictures() {
    p_.even_tiles.emplace(b_.size(p_.pixel_extents.back()), p_.tile.pixels);
    p_.even_tiles->for_each(p_.out, x_, [&](Halide::Stage out, int64_t t) {
      split_channels(out);
      split_picture(out, t, TailStrategy::RoundUp, TailStrategy::GuardWithIf);
    });
  }

  /// Schedules tiles of `t` rows, or pixels of a row.
  void schedule_tiles(Halide::Stage out, int64_t t) {
    split_channels(out);
    if (rows_axis_ + 1 < p_.pixels.size())
      return split_picture(out, t, TailStrategy::ShiftInwards, TailStrategy::ShiftInwards);
    split_rows(out, t);
    std::vector<VarOrRVar> order{p_.ci, xi_, xo_};
    for (size_t i = 0; i < rows_axis_; ++i) order.emplace_back(p_.pixels[i]);
    finish(out, order);
  }

  /// Splits rows of pixels in tiles, and a picture in blocks of rows.
  void split_picture(Halide::Stage out, int64_t t, TailStrategy of_tiles, TailStrategy of_blocks) {
    const bool fills_up = p_.fills_up_rows();
    if (fills_up) p_.acc.bound_extent(x_, as_int(t));
    out.split(x_, xo_, xi_, as_int(fills_up ? p_.pixel_extents.back().number() : t), of_tiles)
        .split(p_.pixels[rows_axis_], block_, rest_, picture_rows_of_block(), of_blocks);
    std::vector<VarOrRVar> order{p_.ci, xi_, xo_};
    if (p_.tile.rows > 1) {
      out.split(rest_, yo_, yi_, as_int(p_.tile.rows), TailStrategy::ShiftInwards);
      order = {p_.ci, xi_, yi_, xo_, yo_};
    }
    for (size_t i = p_.pixels.size() - 1 - (p_.tile.rows > 1 ? 1 : 0); i-- > 0;)
      order.emplace_back(i == rows_axis_ ? rest_ : p_.pixels[i]);
    finish(out, order);
  }

  /// Returns the rows of pixels of a block.
  Expr picture_rows_of_block() {
    const Dim& rows = p_.pixel_extents[rows_axis_];
    const Dim of_row = product_of_dims(p_.pixel_extents, rows_axis_ + 1, p_.pixel_extents.size());
    const RowBlocks chunks =
        choose_row_blocks(typical(rows), typical(of_row) * p_.depth_bytes, p_.block_bytes, threads_of_rows_);
    blocks_ = chunks.blocks;
    if (rows.is_number() && of_row.is_number())
      return as_int(std::min((chunks.rows + p_.tile.rows - 1) / p_.tile.rows * p_.tile.rows, rows.number()));
    const int64_t pixels = std::max<int64_t>(p_.block_bytes / std::max<int64_t>(p_.depth_bytes, 1), 1);
    return rows_of_equal_blocks(b_.size(rows), as_int(pixels) / b_.size(of_row), threads_of_rows_);
  }

  /// Splits rows in blocks of tiles.
  void split_rows(Halide::Stage out, int64_t t) {
    const Dim& width = p_.pixel_extents.back();
    const PixelRow row{.width = typical(width),
                       .in_blocks = true,
                       .pixel_bytes = p_.depth_bytes,
                       .block_bytes = p_.block_bytes,
                       .threads = threads_of_rows_};
    const RowBlocks tiles = row.tile_blocks(t);
    blocks_ = tiles.blocks;
    const Expr rows = width.is_number() ? Expr(as_int(std::min(tiles.rows * t, width.number())))
                                        : rows_of_block(b_.size(width), t);
    out.split(x_, block_, rest_, rows, TailStrategy::ShiftInwards)
        .split(rest_, xo_, xi_, as_int(t), TailStrategy::ShiftInwards);
  }

  /// Returns the rows of a block where their number is open and at least `t`. Blocks have nearly as many rows
  /// each, so at least half of the limit, which is two tiles or more.
  Expr rows_of_block(const Expr& all, int64_t t) const {
    const int64_t most = std::max(p_.block_bytes / std::max<int64_t>(t * p_.depth_bytes, 1), int64_t{2}) * t;
    Expr blocks = (all + as_int(most - 1)) / as_int(most);
    if (threads_of_rows_ > 1)
      blocks = Halide::max(blocks, Halide::clamp(all / as_int(2 * t), 1, threads_of_rows_));
    return (all + blocks - 1) / blocks;
  }

  /// Schedules one tile of `rows` rows, which are all.
  void schedule_few(Halide::Stage out, int64_t rows) {
    split_channels(out);
    out.split(x_, block_, rest_, as_int(rows), TailStrategy::RoundUp)
        .split(rest_, xo_, xi_, as_int(rows), TailStrategy::RoundUp);
    blocks_ = 1;
    finish(out, {p_.ci, xi_, xo_});
  }

  void split_channels(Halide::Stage out) {
    if (!p_.tile.exact)
      out.split(p_.channel, p_.co, p_.ci, as_int(p_.tile.panel),
                p_.has_panels() ? TailStrategy::GuardWithIf : TailStrategy::ShiftInwards);
  }

  /// Orders the loops; `order` has those of a panel.
  void finish(Halide::Stage out, std::vector<VarOrRVar> order) {
    order.emplace_back(p_.co);
    if (p_.group > 1) order.emplace_back(p_.g);
    order.emplace_back(block_);
    for (size_t i = p_.batch.size(); i-- > 0;) order.emplace_back(p_.batch[i]);
    out.reorder(order);
    vectorize_lanes(out, p_, std::max(p_.output_lanes, p_.tile.lanes));
    if (!p_.on_amx) out.unroll(xi_);
    if (worth_threads(p_)) share_among_threads(out);
  }

  void share_among_threads(Halide::Stage out) const {
    if (blocks_ >= p_.threads && p_.threads_share_rows)
      out.parallel(block_);
    else if (typical(p_.panels) >= p_.threads)
      out.parallel(p_.co);
    const int64_t batches = element_count(typical_shape(p_.batch_extents));
    for (size_t i = 0; batches >= 2 && i < p_.batch.size(); ++i) {
      if (typical(p_.batch_extents[i]) < p_.threads) continue;
      out.parallel(p_.batch[i]);
      if (p_.batch_extents[i].is_number()) return;
    }
  }

  const KernelBuilder& b_;
  ContractionParts& p_;
  const Var x_, xi_{"xi"}, xo_{"xo"}, yi_{"yi"}, yo_{"yo"}, block_{"block"}, rest_{"rest"};
  size_t rows_axis_ = 0;  // first axis of pixels with more than one
  int threads_of_rows_ = 1;
  int64_t blocks_ = 1;
};

/// Schedules a group: neighboring tiles by slices of the reduction. Each item sums a slice of its tile; then
/// the first slice's items sum over those.
void schedule_slices(const KernelBuilder& builder, ContractionParts& p, const std::vector<Var>& outer) {
  const Var part("part"), item("item"), x = p.pixels.back();
  p.out.split(p.co, part, item, as_int(p.slices.tiles), TailStrategy::RoundUp);
  std::vector<Var> groups = outer;
  std::ranges::replace_if(groups, [&](const Var& var) { return var.name() == p.co.name(); }, part);
  const Var group = make_groups(builder, p.out, groups);
  p.out.gpu_threads(item);
  p.acc.compute_at(p.out, item).reorder(p.ci, x).unroll(p.ci).unroll(x);
  p.acc.update().reorder(p.ci, x).unroll(p.ci).unroll(x);
  std::vector<VarOrRVar> order{p.ci, x, p.co, p.slice};
  for (const Var& var : p.inner_first())
    if (std::ranges::none_of(order, [&](const VarOrRVar& known) { return known.name() == var.name(); }))
      order.emplace_back(var);
  p.slice_sums.compute_at(p.out, group).reorder(order).unroll(p.ci).unroll(x).gpu_threads(p.co, p.slice);
  p.slice_sum.compute_at(p.slice_sums, p.co);
  schedule_accumulators(p, p.slice_sum);
}

/// Returns the widths of the tiles of work items for rows of an open number of pixels, the widest first: few,
/// as a driver builds each.
std::vector<int64_t> item_widths(int64_t widest) {
  if (widest > 4) return {widest, 4, 1};
  return widest > 1 ? std::vector<int64_t>{widest, 1} : std::vector<int64_t>{1};
}

/// Schedules the tiles of a variant of the code. Returns the loops outside of a work item's.
std::vector<Var> split_tiles(Halide::Stage out, ContractionParts& p, int64_t pixels) {
  const Var x = p.pixels.back(), xo("xo"), xi("xi");
  if (!p.tile.exact) out.split(p.channel, p.co, p.ci, as_int(p.tile.panel), TailStrategy::ShiftInwards);
  out.split(x, xo, xi, as_int(pixels), TailStrategy::ShiftInwards);
  std::vector<Var> outer{xo};
  outer.insert(outer.end(), std::next(p.pixels.rbegin()), p.pixels.rend());
  outer.insert(p.lanes_apart ? outer.begin() : outer.end(), p.co);
  if (p.group > 1) outer.push_back(p.g);
  outer.insert(outer.end(), p.batch.rbegin(), p.batch.rend());
  std::vector<VarOrRVar> order{p.ci, xi};
  order.insert(order.end(), outer.begin(), outer.end());
  out.reorder(order);
  vectorize_lanes(out, p, p.tile.lanes);
  out.unroll(xi);
  return outer;
}

/// Schedules work items. Where the number of pixels of a row is open, there is a variant of the code for a
/// tile or more, and narrower ones.
void schedule_items(const KernelBuilder& builder, ContractionParts& p) {
  const Dim& row = p.pixel_extents.back();
  if (p.slices.slices > 1) return schedule_slices(builder, p, split_tiles(p.out, p, p.tile.pixels));
  Halide::LoopLevel item;
  for (int64_t t : row.is_number() ? std::vector<int64_t>{p.tile.pixels} : item_widths(p.tile.pixels)) {
    const bool is_last = row.is_number() || t == 1;
    const Halide::Stage out = is_last ? p.out : p.out.specialize(builder.size(row) >= as_int(t));
    item = run_tiles(builder, p.out, out, split_tiles(out, p, t));
  }
  p.acc.compute_at(item);
  schedule_accumulators(p, p.acc);
}

}  // namespace

void schedule_contraction(const KernelBuilder& builder, ContractionParts& p) {
  if (!p.tile.exact) p.acc.bound_extent(p.ci, as_int(p.tile.panel));
  if (builder.mapping() == Mapping::tile_per_item)
    schedule_items(builder, p);
  else
    ContractionLoops(builder, p).apply();
}

}  // namespace intarsia::halide
