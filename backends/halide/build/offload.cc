#include "backends/halide/build/offload.h"

namespace intarsia::halide {

Var offload(const KernelBuilder& builder, Func out, const std::vector<Var>& outer) {
  const std::vector<Var> loops = builder.output_vars(outer);
  std::vector<Halide::VarOrRVar> order(loops.begin(), loops.end());
  if (order.size() > 1) out.reorder(order);
  Var task = loops[0];
  for (size_t i = 1; i < loops.size(); ++i) {
    const Var fused(fmt::format("task{}", i));
    out.fuse(task, loops[i], fused);
    task = fused;
  }
  Var group("group"), item("item");
  const int items = builder.isa().group_items;
  const auto tail = items == 1 ? Halide::TailStrategy::Auto : Halide::TailStrategy::GuardWithIf;
  out.split(task, group, item, items, tail).gpu_blocks(group).gpu_threads(item);
  return item;
}

}  // namespace intarsia::halide
