#include "backends/halide/build/run_tiles.h"

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

}  // namespace

Var make_items(const KernelBuilder& builder, Halide::Stage stage, const std::vector<Var>& outer) {
  const Var task = fuse_outer(builder, stage, outer);
  Var group("group"), item("item");
  const int items = builder.isa().group_items;
  const auto tail = items == 1 ? Halide::TailStrategy::Auto : Halide::TailStrategy::GuardWithIf;
  stage.split(task, group, item, items, tail).gpu_blocks(group).gpu_threads(item);
  return item;
}

Var make_groups(const KernelBuilder& builder, Halide::Stage stage, const std::vector<Var>& outer) {
  const Var group = fuse_outer(builder, stage, outer);
  stage.gpu_blocks(group);
  return group;
}

Halide::LoopLevel run_tiles(const KernelBuilder& builder, Func out, const std::vector<Var>& outer) {
  if (builder.mapping() == Mapping::tile_per_item) return {out, make_items(builder, out, outer)};
  return outer.empty() ? Halide::LoopLevel::root() : Halide::LoopLevel(out, outer[0]);
}

}  // namespace intarsia::halide
