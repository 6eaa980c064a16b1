// Elementwise and data movement kernels: each output element on its own, in the order of the output's memory.
#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/run_tiles.h"

namespace intarsia::halide {
namespace {

/// Elements per task below which a parallel loop costs more than it saves.
constexpr int64_t min_task = 8192;

/// Elements of a work item on a device, if the axes allow it.
constexpr int64_t item_elements = 1024;

/// Schedules work items: vectors along the innermost axis, whole axes outside it while a work item is not too
/// long.
void schedule_items(const KernelBuilder& b, Func out, const std::vector<Var>& vars,
                    const FixedArgument& argument) {
  std::vector<size_t> order = storage_order(to_symbolic(argument.strides));
  std::vector<Halide::VarOrRVar> inside;
  std::vector<Var> outside;
  if (order.empty()) {
    run_tiles(b, out, outside);
    return;
  }
  size_t at = order.size() - 1;
  while (at > 0 && argument.shape[order[at]] == 1) --at;
  const Var inner = vars[order[at]], chunk("chunk"), rest("rest"), lane("lane");
  const int64_t extent = argument.shape[order[at]], elements = std::min(extent, item_elements);
  const int factor = vector_factor(extent, b.lanes());
  out.split(inner, chunk, rest, as_int(elements), Halide::TailStrategy::ShiftInwards)
      .split(rest, rest, lane, factor, Halide::TailStrategy::ShiftInwards);
  inside = {lane, rest};
  outside.push_back(chunk);
  int64_t size = elements;
  for (size_t i = order.size(); i-- > 0;) {
    if (i == at) continue;
    size *= argument.shape[order[i]];
    if (size <= item_elements)
      inside.emplace_back(vars[order[i]]);
    else
      outside.push_back(vars[order[i]]);
  }
  inside.insert(inside.end(), outside.begin(), outside.end());
  out.reorder(inside).vectorize(lane);
  run_tiles(b, out, outside);
}

void schedule(Func out, const std::vector<Var>& vars, const FixedArgument& argument, int lanes, int threads) {
  std::vector<size_t> order = storage_order(to_symbolic(argument.strides));
  if (order.empty()) return;
  std::vector<Halide::VarOrRVar> inner_first;
  for (size_t i = order.size(); i-- > 0;) inner_first.push_back(vars[order[i]]);
  // The innermost axis with more than one element is vectorized.
  size_t at = order.size() - 1;
  while (at > 0 && argument.shape[order[at]] == 1) --at;
  Var inner = vars[order[at]];
  int64_t extent = argument.shape[order[at]];
  int factor = vector_factor(extent, lanes);
  out.reorder(inner_first);
  bool parallel = threads > 1 && element_count(argument.shape) >= 2 * min_task;
  if (parallel && at == 0) {
    int64_t tasks = std::min<int64_t>(4 * threads, extent / min_task);
    int64_t chunk = (extent / std::max<int64_t>(tasks, 1) + factor - 1) / factor * factor;
    Var outer("task"), rest("rest");
    out.split(inner, outer, rest, static_cast<int>(std::min(chunk, extent)),
              Halide::TailStrategy::ShiftInwards);
    out.vectorize(rest, factor, Halide::TailStrategy::ShiftInwards).parallel(outer);
    return;
  }
  if (factor > 1) out.vectorize(inner, factor, Halide::TailStrategy::ShiftInwards);
  for (size_t i = 0; parallel && i < at; ++i)
    if (argument.shape[order[i]] >= threads) {
      out.parallel(vars[order[i]]);
      return;
    }
}

}  // namespace

BuiltKernel build_pointwise(KernelBuilder& b) {
  const FixedArgument& argument = b.output();
  std::vector<Var> vars = make_vars(argument.shape.size(), "i");
  Exprs index = to_exprs(vars);
  Expr anchor = b.kernel().anchor == no_node ? Expr() : build_movement(b, b.anchor(), index);
  Func out("out");
  out(b.output_vars(vars)) = stored(b.result_at(index, anchor));
  if (b.mapping() == Mapping::tile_per_item)
    schedule_items(b, out, vars, argument);
  else
    schedule(out, vars, argument, b.lanes(), b.kernel().threads);
  return b.finish(out, argument);
}

}  // namespace intarsia::halide
