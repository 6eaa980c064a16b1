#include "backends/halide/build/run_tiles.h"

namespace intarsia::halide {

Var make_items(const KernelBuilder& builder, Halide::Stage stage, const std::vector<Var>& outer) {
  const std::vector<Var> loops = builder.output_vars(outer);
  std::vector<Halide::VarOrRVar> order(loops.begin(), loops.end());
  if (order.size() > 1) stage.reorder(order);
  Var task = loops[0];
  for (size_t i = 1; i < loops.size(); ++i) {
    const Var fused(fmt::format("task{}", i));
    stage.fuse(task, loops[i], fused);
    task = fused;
  }
  Var group("group"), item("item");
  const int items = builder.isa().group_items;
  const auto tail = items == 1 ? Halide::TailStrategy::Auto : Halide::TailStrategy::GuardWithIf;
  stage.split(task, group, item, items, tail).gpu_blocks(group).gpu_threads(item);
  return item;
}

Halide::LoopLevel run_tiles(const KernelBuilder& builder, Func out, const std::vector<Var>& outer) {
  if (builder.mapping() == Mapping::tile_per_item) return {out, make_items(builder, out, outer)};
  return outer.empty() ? Halide::LoopLevel::root() : Halide::LoopLevel(out, outer[0]);
}

}  // namespace intarsia::halide
