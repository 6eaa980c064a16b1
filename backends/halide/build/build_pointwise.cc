// Elementwise and data movement kernels: each output element by itself, in the order of the output's memory.
#include "backends/halide/build/build_kernel.h"

namespace intarsia::halide {
namespace {

/// Below this a parallel loop costs more than it saves (elements per task).
constexpr int64_t min_task = 8192;

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
  out(vars) = stored(b.result_at(index, anchor));
  schedule(out, vars, argument, b.lanes(), b.kernel().threads);
  return b.finish(out, argument);
}

}  // namespace intarsia::halide
