// Pooling and local response normalization, which read a small neighborhood of each output element.
#include <algorithm>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/math.h"
#include "backends/halide/build/run_tiles.h"

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;

/// Spatial axis of a pooling window. `padded` is the size with the padding after the elements.
struct PoolAxis {
  Expr size, padded, begin;
  int64_t taps, stride, dilation;
  bool is_inside;  // whether all places are known to be elements
  Expr place(const Expr& out, const Expr& tap) const {
    return out * as_int(stride) + tap * as_int(dilation) - begin;
  }
};

std::vector<PoolAxis> pool_axes(const KernelBuilder& b, const Node& node) {
  const SymbolicShape &in = b.sizes(node.inputs[0]), &out = b.sizes(node.outputs[0]);
  const PoolAttributes a = attributes_of<PoolAttributes>(node);
  std::vector<PoolAxis> axes;
  for (size_t i = 0; i < a.kernel.size(); ++i) {
    const Dim size = in[i + 2], after = a.pads[i + a.kernel.size()];
    const Dim last = size - (a.kernel[i] - 1) * a.dilations[i] - 1;  // last place that a window begins at
    const bool is_inside = a.pads[i] == 0 && provably_equal(out[i + 2], floor_div(last, a.strides[i]) + 1);
    axes.push_back({b.size(size), b.size(size + after), b.size(a.pads[i]), a.kernel[i], a.strides[i],
                    a.dilations[i], is_inside});
  }
  return axes;
}

/// Counts the taps along an axis that are inside the input or, `with_pads`, inside the padded input.
Expr count_along(const PoolAxis& axis, const Expr& out, bool with_pads) {
  if (axis.is_inside) return as_int(axis.taps);
  Expr count = 0;
  for (int64_t k = 0; k < axis.taps; ++k) {
    Expr place = axis.place(out, as_int(k));
    Expr inside = with_pads ? place < axis.padded : place >= 0 && place < axis.size;
    count += Halide::select(inside, 1, 0);
  }
  return count;
}

/// Computes local response normalization (Krizhevsky and others, 2012) over `size` neighboring channels.
Expr local_response(KernelBuilder& b, const Node& node, const Exprs& index) {
  const auto [size, alpha, beta, bias] = attributes_of<LrnAttributes>(node);
  const Expr channels = b.size(b.sizes(node.inputs[0])[1]);
  const Operand& from = b.operand(node.inputs[0]);
  Expr sum = 0.0f;
  for (int64_t k = 0; k < size; ++k) {
    Exprs at = index;
    Expr place = index[1] + as_int(k - (size - 1) / 2);
    at[1] = Halide::clamp(place, 0, channels - 1);
    Expr value = from.at(at);
    sum += Halide::select(place >= 0 && place < channels, value * value, 0.0f);
  }
  Expr base = bias + alpha / static_cast<float>(size) * sum;
  return from.at(index) * exp_of(-beta * log_of(base));
}

/// Schedule of a window's loops: the axes in the order of the output's memory, the innermost one in vectors.
/// Where its size is open, there is a variant of the code for a vector or more, and one for less.
class WindowSchedule {
 public:
  WindowSchedule(const KernelBuilder& b, const std::vector<Var>& vars, int64_t taps)
      : b_(b),
        vars_(vars),
        argument_(b.output()),
        order_(storage_order(argument_.strides)),
        at_(order_.size() - 1),
        taps_(taps) {
    while (at_ > 0 && argument_.shape[order_[at_]] == 1) --at_;
  }

  void apply(Func out, Func pool, const RDom& r) {
    const Dim& extent = argument_.shape[order_[at_]];
    // OpenCL C has no vectors of every other element, as windows along an axis of pictures read them.
    const bool has_strides = b_.isa().is_offloaded() && !extent.is_number() && order_[at_] > 1;
    const int factor = has_strides ? 1 : vector_factor(typical(extent), b_.lanes());
    if (extent.is_number() || factor == 1) {
      schedule_vectors(out, out, factor);
    } else {
      schedule_vectors(out, out.specialize(b_.size(extent) >= factor), factor);
      schedule_vectors(out, out, 1);
    }
    if (!pool.defined()) return;
    const Var& inner = vars_[order_[at_]];
    pool.compute_at(tile_).vectorize(inner);
    std::vector<Halide::VarOrRVar> taps_order{inner};
    for (int i = 0; i < r.dimensions(); ++i) taps_order.emplace_back(r[i]);
    pool.update().reorder(taps_order).vectorize(inner);
    for (int i = 0; taps_ <= 9 && i < r.dimensions(); ++i) pool.update().unroll(r[i]);
  }

 private:
  void schedule_vectors(Func out, Halide::Stage stage, int factor) {
    std::vector<Var> outer{io_};
    stage.split(vars_[order_[at_]], io_, ii_, factor, TailStrategy::ShiftInwards);
    for (size_t i = order_.size(); i-- > 0;)
      if (i != at_) outer.push_back(vars_[order_[i]]);
    std::vector<Halide::VarOrRVar> loops{ii_};
    loops.insert(loops.end(), outer.begin(), outer.end());
    stage.reorder(loops).vectorize(ii_);
    tile_ = run_tiles(b_, out, stage, outer);
    const Shape shape = typical_shape(argument_.shape);
    if (b_.kernel().threads > 1 && element_count(shape) * taps_ > 100000)
      for (size_t i = 0; i < at_; ++i)
        if (shape[order_[i]] >= b_.kernel().threads) {
          stage.parallel(vars_[order_[i]]);
          return;
        }
  }

  const KernelBuilder& b_;
  const std::vector<Var>& vars_;
  const Argument& argument_;
  const std::vector<size_t> order_;  // axes, the outermost first
  size_t at_;                        // place of the vectorized axis in the order
  const int64_t taps_;
  const Var io_{"io"}, ii_{"ii"};
  Halide::LoopLevel tile_;
};

}  // namespace

BuiltKernel build_window(KernelBuilder& b) {
  const Node& node = b.anchor();
  std::vector<Var> vars = make_vars(b.kernel().output.shape.size(), "o");
  Exprs index = to_exprs(vars);
  Func out("out"), pool;
  if (op_of(node) == CoreOp::lrn) {
    out(b.output_vars(vars)) = stored(b.result_at(index, local_response(b, node, index)));
    WindowSchedule(b, vars, attributes_of<LrnAttributes>(node).size).apply(out, pool, RDom());
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
    if (!axes[i].is_inside) inside = inside && place >= 0 && place < axes[i].size;
    at.push_back(axes[i].is_inside ? place : Halide::clamp(place, 0, axes[i].size - 1));
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
  WindowSchedule(b, vars, taps).apply(out, pool, r);
  return b.finish(out, b.output());
}

}  // namespace intarsia::halide
