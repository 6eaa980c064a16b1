#include "backends/halide/build/schedule_contraction.h"

#include <algorithm>

#include "backends/halide/build/run_tiles.h"

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;
using Halide::VarOrRVar;

void vectorize_lanes(Halide::Stage stage, const ContractionParts& p) {
  if (p.tile.lanes > 1) stage.vectorize(p.ci, as_int(p.tile.lanes));
  if (p.tile.panel > p.tile.lanes) stage.unroll(p.ci);
}

void schedule_accumulators(ContractionParts& p) {
  Var x = p.pixels.back();
  p.acc.reorder(p.ci, x);
  vectorize_lanes(p.acc, p);
  p.acc.unroll(x);
  std::vector<VarOrRVar> order{p.ci, x};
  for (int i = 0; i < p.reduction.dimensions(); ++i) order.emplace_back(p.reduction[i]);
  p.acc.update().reorder(order);
  vectorize_lanes(p.acc.update(), p);
  p.acc.update().unroll(x);
}

void schedule_stage(ContractionParts& p, Halide::LoopLevel level, int lanes, int64_t channels) {
  if (!p.stage.defined()) return;
  p.stage.compute_at(level);
  int factor = vector_factor(channels, lanes);
  if (factor > 1) p.stage.vectorize(p.stage_vars[0], factor, TailStrategy::ShiftInwards);
}

/// Checks whether the multiply-adds are worth a second thread.
bool worth_threads(const ContractionParts& p) {
  return p.threads > 1 && element_count(p.batch_extents) * element_count(p.pixel_extents) * p.channels *
                                  p.group * p.taps * (p.depth / p.group) >
                              100000;
}

}  // namespace

void ContractionParts::name_vars() {
  batch = make_vars(batch_extents.size(), "n");
  pixels = make_vars(pixel_extents.size(), "x");
}

std::vector<Var> ContractionParts::inner_first() const {
  std::vector<Var> vars{ci};
  vars.insert(vars.end(), pixels.rbegin(), pixels.rend());
  if (tile.exact) vars.push_back(co);
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
  const int unrolled = vector_factor(pack.depth, 8);
  pack.func.split(pack.lane, outer, inner, lanes, TailStrategy::ShiftInwards)
      .split(pack.step, steps, step, unrolled, TailStrategy::ShiftInwards)
      .reorder(inner, step, outer, steps)
      .vectorize(inner)
      .unroll(step);
}

namespace {

void schedule_loops(ContractionParts& p) {
  Var xi("xi"), xo("xo"), block("block"), rest("rest");
  Var x = p.pixels.back();
  int64_t width = p.pixel_extents.back(), t = p.tile.pixels;
  std::vector<VarOrRVar> order{p.ci, xi, xo};
  int64_t blocks = 1;
  const int threads_of_rows = p.threads_share_rows ? p.threads : 1;
  size_t rows_axis = 0;
  while (rows_axis + 1 < p.pixels.size() && p.pixel_extents[rows_axis] == 1) ++rows_axis;
  if (rows_axis + 1 == p.pixels.size()) {
    const PixelRow row{.width = width,
                       .in_blocks = true,
                       .pixel_bytes = p.depth_bytes,
                       .block_bytes = p.block_bytes,
                       .threads = threads_of_rows};
    const RowBlocks tiles = row.tile_blocks(t);
    blocks = tiles.blocks;
    p.out.split(x, block, rest, as_int(std::min(tiles.rows * t, width)), TailStrategy::ShiftInwards)
        .split(rest, xo, xi, as_int(t), TailStrategy::ShiftInwards);
    for (size_t i = 0; i < rows_axis; ++i) order.emplace_back(p.pixels[i]);
  } else {
    int64_t rows = p.pixel_extents[rows_axis], row_elements = 1;
    for (size_t i = rows_axis + 1; i < p.pixels.size(); ++i) row_elements *= p.pixel_extents[i];
    const RowBlocks chunks =
        choose_row_blocks(rows, row_elements * p.depth_bytes, p.block_bytes, threads_of_rows);
    blocks = chunks.blocks;
    p.out.split(x, xo, xi, as_int(t), TailStrategy::ShiftInwards);
    p.out.split(p.pixels[rows_axis], block, rest, as_int(chunks.rows), TailStrategy::ShiftInwards);
    for (size_t i = p.pixels.size() - 1; i-- > 0;) order.emplace_back(i == rows_axis ? rest : p.pixels[i]);
  }
  order.emplace_back(p.co);
  if (p.group > 1) order.emplace_back(p.g);
  order.emplace_back(block);
  for (size_t i = p.batch.size(); i-- > 0;) order.emplace_back(p.batch[i]);
  p.out.reorder(order);
  vectorize_lanes(p.out, p);
  p.out.unroll(xi);
  p.acc.compute_at(p.out, xo);
  schedule_accumulators(p);

  Var task = block;
  bool packs_per_batch = p.pack.defined();
  if (packs_per_batch) {
    schedule_pack({p.pack, p.ci, p.pack_index, p.depth, as_int(p.tile.lanes), p.pack_reads_along_depth});
    if (p.batch.empty())
      p.pack.compute_root();
    else
      p.pack.compute_at(p.out, p.batch.back());
  }
  schedule_stage(p, Halide::LoopLevel(p.out, block), as_int(p.tile.lanes), p.depth);
  if (!worth_threads(p)) return;
  int64_t batches = element_count(p.batch_extents);
  if (blocks >= p.threads && p.threads_share_rows)
    p.out.parallel(block);
  else if (p.panels >= p.threads)
    p.out.parallel(p.co);
  if (batches >= 2 && !p.batch.empty())
    for (size_t i = 0; i < p.batch.size(); ++i)
      if (p.batch_extents[i] >= p.threads) {
        p.out.parallel(p.batch[i]);
        return;
      }
}

/// Schedules the copy of a panel's weights into a group's memory: all items of the group copy, then wait for
/// each other.
void share_weights(ContractionParts& p, const GroupLoops& loops, int items) {
  const std::vector<Var> args = p.shared.args();
  const size_t of_panel = args.size() - (p.group > 1 ? 2 : 1);
  Var element = args[0];
  for (size_t i = 1; i < of_panel; ++i) {
    const Var fused(fmt::format("element{}", i));
    p.shared.fuse(element, args[i], fused);
    element = fused;
  }
  Var round("round"), copier("copier");
  p.shared.compute_at(p.out, loops.group)
      .store_in(Halide::MemoryType::GPUShared)
      .split(element, round, copier, items, TailStrategy::GuardWithIf)
      .gpu_threads(copier);
}

void schedule_items(const KernelBuilder& builder, ContractionParts& p) {
  const Var x = p.pixels.back(), xo("xo"), xi("xi");
  p.out.split(x, xo, xi, as_int(p.tile.pixels), TailStrategy::ShiftInwards);
  std::vector<Var> outer{xo};
  outer.insert(outer.end(), std::next(p.pixels.rbegin()), p.pixels.rend());
  outer.push_back(p.co);
  if (p.group > 1) outer.push_back(p.g);
  outer.insert(outer.end(), p.batch.rbegin(), p.batch.rend());
  std::vector<VarOrRVar> order{p.ci, xi};
  order.insert(order.end(), outer.begin(), outer.end());
  p.out.reorder(order);
  vectorize_lanes(p.out, p);
  p.out.unroll(xi);
  if (p.shared.defined()) {
    const auto pixels = static_cast<std::ptrdiff_t>(p.pixels.size());
    const GroupLoops loops = make_groups(builder, p.out, {outer.begin(), outer.begin() + pixels},
                                         {outer.begin() + pixels, outer.end()});
    p.acc.compute_at(p.out, loops.item);
    share_weights(p, loops, builder.isa().group_items);
  } else {
    p.acc.compute_at(run_tiles(builder, p.out, outer));
  }
  schedule_accumulators(p);
}

}  // namespace

void schedule_contraction(const KernelBuilder& builder, ContractionParts& p) {
  if (!p.tile.exact) {
    p.out.split(p.channel, p.co, p.ci, as_int(p.tile.panel), TailStrategy::ShiftInwards);
    p.acc.bound_extent(p.ci, as_int(p.tile.panel));
  }
  if (builder.mapping() == Mapping::tile_per_item)
    schedule_items(builder, p);
  else
    schedule_loops(p);
}

}  // namespace intarsia::halide
