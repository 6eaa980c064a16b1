// Pooling and local response normalization, which read a small neighborhood of each output element.
#include <algorithm>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/math.h"
#include "backends/halide/build/run_tiles.h"

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;

/// Spatial axis of a pooling window.
struct PoolAxis {
  int64_t size, taps, stride, dilation, begin, end;
  Expr place(const Expr& out, const Expr& tap) const {
    return out * as_int(stride) + tap * as_int(dilation) - as_int(begin);
  }
};

std::vector<PoolAxis> pool_axes(KernelBuilder& b, const Node& node) {
  Shape in = b.shape(node.inputs[0]);
  const PoolAttributes a = attributes_of<PoolAttributes>(node);
  std::vector<PoolAxis> axes;
  for (size_t i = 0; i < a.kernel.size(); ++i)
    axes.push_back(
        {in[i + 2], a.kernel[i], a.strides[i], a.dilations[i], a.pads[i], a.pads[i + a.kernel.size()]});
  return axes;
}

/// Counts the taps along an axis that are inside the input or, `with_pads`, inside the padded input.
Expr count_along(const PoolAxis& axis, const Expr& out, bool with_pads) {
  Expr count = 0;
  for (int64_t k = 0; k < axis.taps; ++k) {
    Expr place = axis.place(out, as_int(k));
    Expr inside = with_pads ? place < as_int(axis.size + axis.end) : place >= 0 && place < as_int(axis.size);
    count += Halide::select(inside, 1, 0);
  }
  return count;
}

/// Computes local response normalization (Krizhevsky and others, 2012) over `size` neighboring channels.
Expr local_response(KernelBuilder& b, const Node& node, const Exprs& index) {
  const auto [size, alpha, beta, bias] = attributes_of<LrnAttributes>(node);
  const int64_t channels = b.shape(node.inputs[0])[1];
  const Operand& from = b.operand(node.inputs[0]);
  Expr sum = 0.0f;
  for (int64_t k = 0; k < size; ++k) {
    Exprs at = index;
    Expr place = index[1] + as_int(k - (size - 1) / 2);
    at[1] = Halide::clamp(place, 0, as_int(channels - 1));
    Expr value = from.at(at);
    sum += Halide::select(place >= 0 && place < as_int(channels), value * value, 0.0f);
  }
  Expr base = bias + alpha / static_cast<float>(size) * sum;
  return from.at(index) * exp_of(-beta * log_of(base));
}

void schedule(KernelBuilder& b, Func out, Func pool, const RDom& r, const std::vector<Var>& vars,
              int64_t taps) {
  const FixedArgument argument = b.fixed_output();
  std::vector<size_t> order = storage_order(b.kernel().output.strides);
  size_t at = order.size() - 1;
  while (at > 0 && argument.shape[order[at]] == 1) --at;
  Var inner = vars[order[at]], io("io"), ii("ii");
  int factor = vector_factor(argument.shape[order[at]], b.lanes());
  std::vector<Var> outer{io};
  out.split(inner, io, ii, factor, TailStrategy::ShiftInwards);
  for (size_t i = order.size(); i-- > 0;)
    if (i != at) outer.push_back(vars[order[i]]);
  std::vector<Halide::VarOrRVar> loops{ii};
  loops.insert(loops.end(), outer.begin(), outer.end());
  out.reorder(loops).vectorize(ii);
  const Halide::LoopLevel tile = run_tiles(b, out, outer);
  if (pool.defined()) {
    pool.compute_at(tile).vectorize(inner);
    std::vector<Halide::VarOrRVar> taps_order{inner};
    for (int i = 0; i < r.dimensions(); ++i) taps_order.emplace_back(r[i]);
    pool.update().reorder(taps_order).vectorize(inner);
    for (int i = 0; taps <= 9 && i < r.dimensions(); ++i) pool.update().unroll(r[i]);
  }
  if (b.kernel().threads > 1 && element_count(argument.shape) * taps > 100000)
    for (size_t i = 0; i < at; ++i)
      if (argument.shape[order[i]] >= b.kernel().threads) {
        out.parallel(vars[order[i]]);
        return;
      }
}

}  // namespace

BuiltKernel build_window(KernelBuilder& b) {
  const Node& node = b.anchor();
  std::vector<Var> vars = make_vars(b.kernel().output.shape.size(), "o");
  Exprs index = to_exprs(vars);
  Func out("out"), pool;
  if (op_of(node) == CoreOp::lrn) {
    out(b.output_vars(vars)) = stored(b.result_at(index, local_response(b, node, index)));
    schedule(b, out, pool, RDom(), vars, attributes_of<LrnAttributes>(node).size);
    return b.finish(out, b.output());
  }
  const PoolAttributes pooling = attributes_of<PoolAttributes>(node);
  std::vector<PoolAxis> axes = pool_axes(b, node);
  Halide::Region region;
  for (size_t i = axes.size(); i-- > 0;) region.push_back({0, as_int(axes[i].taps)});
  RDom r(region, "r");
  Exprs at{index[0], index[1]};
  Expr inside = Halide::Internal::make_bool(true), count = 1;
  bool average = op_of(node) == CoreOp::average_pool, with_pads = pooling.count_pads;
  int64_t taps = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    Expr place = axes[i].place(index[i + 2], r[as_int(static_cast<int64_t>(axes.size() - 1 - i))]);
    inside = inside && place >= 0 && place < as_int(axes[i].size);
    at.push_back(Halide::clamp(place, 0, as_int(axes[i].size - 1)));
    count = count * count_along(axes[i], index[i + 2], with_pads);
    taps *= axes[i].taps;
  }
  Expr value = b.operand(node.inputs[0]).at(at);
  Halide::Type type = value.type();
  pool = Func("pool");
  Expr least = least_of(type), outside = least;
  if (pooling.fill) outside = Halide::Internal::make_const(type, *pooling.fill);
  pool(vars) = average ? Halide::Internal::make_zero(type) : least;
  if (average)
    pool(vars) += Halide::select(inside, value, Halide::Internal::make_zero(type));
  else
    pool(vars) = Halide::max(pool(vars), Halide::select(inside, value, outside));
  Expr pooled = pool(vars);
  out(b.output_vars(vars)) =
      stored(b.result_at(index, average ? pooled / Halide::cast(type, Halide::max(count, 1)) : pooled));
  schedule(b, out, pool, r, vars, taps);
  return b.finish(out, b.output());
}

}  // namespace intarsia::halide
