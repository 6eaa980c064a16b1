#include "backends/halide/build/run_tiles.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

/// Fuses several loops, listed from the innermost to the outermost, into one.
Var fuse_all(Halide::Stage& stage, const std::vector<Var>& loops, const char* name) {
  Var all = loops[0];
  for (size_t i = 1; i < loops.size(); ++i) {
    const Var fused(fmt::format("{}{}", name, i));
    stage.fuse(all, loops[i], fused);
    all = fused;
  }
  return all;
}

/// Fuses the loops outside of a work item, in this order, into one.
Var fuse_outer(const KernelBuilder& builder, Halide::Stage& stage, const std::vector<Var>& outer) {
  const std::vector<Var> loops = builder.output_vars(outer);
  std::vector<Halide::VarOrRVar> order(loops.begin(), loops.end());
  if (order.size() > 1) stage.reorder(order);
  return fuse_all(stage, loops, "task");
}

/// Orders the loops outside of a work item; the second and the third become axes of the grid. Returns the
/// first.
Var keep_apart(const KernelBuilder& builder, Halide::Stage& stage, const std::vector<Var>& outer) {
  const std::vector<Var> loops = builder.output_vars(outer);
  const std::vector<Halide::VarOrRVar> order(loops.begin(), loops.end());
  if (order.size() > 1) stage.reorder(order);
  for (size_t i = 1; i < std::min<size_t>(loops.size(), 3); ++i) stage.gpu_blocks(loops[i]);
  return loops[0];
}

Var arrange_outer(const KernelBuilder& builder, Halide::Stage& stage, const std::vector<Var>& outer) {
  return builder.outer_loops() == OuterLoops::apart ? keep_apart(builder, stage, outer)
                                                    : fuse_outer(builder, stage, outer);
}

}  // namespace

Var make_items(const KernelBuilder& builder, Halide::Stage stage, const std::vector<Var>& outer) {
  const Var task = arrange_outer(builder, stage, outer);
  Var group("group"), item("item");
  const int items = builder.isa().group_items;
  const auto tail = items == 1 ? Halide::TailStrategy::Auto : Halide::TailStrategy::GuardWithIf;
  stage.split(task, group, item, items, tail).gpu_blocks(group).gpu_threads(item);
  return item;
}

Var make_groups(const KernelBuilder& builder, Halide::Stage stage, const std::vector<Var>& outer) {
  const Var group = arrange_outer(builder, stage, outer);
  stage.gpu_blocks(group);
  return group;
}

Halide::LoopLevel run_tiles(const KernelBuilder& builder, Func out, const std::vector<Var>& outer) {
  return run_tiles(builder, out, out, outer);
}

Halide::LoopLevel run_tiles(const KernelBuilder& builder, Func out, Halide::Stage stage,
                            const std::vector<Var>& outer) {
  if (builder.mapping() == Mapping::tile_per_item) return {out, make_items(builder, std::move(stage), outer)};
  return outer.empty() ? Halide::LoopLevel::root() : Halide::LoopLevel(out, outer[0]);
}

}  // namespace intarsia::halide
