// Elementwise and data movement kernels: each output element on its own, in the order of the output's memory.
#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/run_tiles.h"

namespace intarsia::halide {
namespace {

/// Elements per task below which a parallel loop costs more than it saves.
constexpr int64_t min_task = 8192;

/// Elements of a work item on a device that is a processor, if the axes allow it.
constexpr int64_t item_elements = 1024;

/// Schedule of work items: vectors along the innermost axis, whole axes outside it while a work item is not
/// too long. Where groups run side by side, an item has one element, so that neighbors are neighbors in
/// memory. Where the size of the innermost axis is open, there is a variant for a vector or more, and one for
/// less.
class ItemSchedule {
 public:
  ItemSchedule(const KernelBuilder& b, const std::vector<Var>& vars)
      : b_(b),
        vars_(vars),
        argument_(b.output()),
        shape_(typical_shape(argument_.shape)),
        order_(storage_order(argument_.strides)),
        most_(b.isa().runs_groups() ? 1 : item_elements) {}

  void apply(Func out) {
    if (order_.empty()) {
      run_tiles(b_, out, {});
      return;
    }
    at_ = order_.size() - 1;
    while (at_ > 0 && argument_.shape[order_[at_]] == 1) --at_;
    const Dim& extent = argument_.shape[order_[at_]];
    // OpenCL C has no vectors of what is read at places with divisions by open sizes.
    const bool moves = b_.kernel().anchor != no_node && !b_.kernel().symbols.empty();
    const int factor = moves ? 1 : vector_factor(std::min(shape_[order_[at_]], most_), b_.lanes());
    if (!extent.is_number() && factor > 1) schedule(out, out.specialize(b_.size(extent) >= factor), factor);
    schedule(out, out, extent.is_number() ? factor : 1);
  }

 private:
  /// Returns the elements of a work item along the innermost axis, at most all.
  Expr elements() const {
    const Dim& extent = argument_.shape[order_[at_]];
    if (most_ == 1) return 1;
    if (extent.is_number()) return as_int(std::min(extent.number(), most_));
    return Halide::min(b_.size(extent), as_int(most_));
  }

  void schedule(Func out, Halide::Stage stage, int factor) const {
    const Var inner = vars_[order_[at_]], chunk("chunk"), rest("rest"), lane("lane");
    std::vector<Halide::VarOrRVar> inside{lane, rest};
    std::vector<Var> outside{chunk};
    stage.split(inner, chunk, rest, elements(), Halide::TailStrategy::ShiftInwards)
        .split(rest, rest, lane, factor, Halide::TailStrategy::ShiftInwards);
    int64_t size = std::min(shape_[order_[at_]], most_);
    for (size_t i = order_.size(); i-- > 0;) {
      if (i == at_) continue;
      size *= shape_[order_[i]];
      if (size <= most_)
        inside.emplace_back(vars_[order_[i]]);
      else
        outside.push_back(vars_[order_[i]]);
    }
    inside.insert(inside.end(), outside.begin(), outside.end());
    stage.reorder(inside).vectorize(lane);
    run_tiles(b_, out, stage, outside);
  }

  const KernelBuilder& b_;
  const std::vector<Var>& vars_;
  const Argument& argument_;
  const Shape shape_;                // typical sizes of the output
  const std::vector<size_t> order_;  // axes, the outermost first
  const int64_t most_;               // limit of the elements of a work item
  size_t at_ = 0;                    // place of the vectorized axis in the order
};

/// Schedule of a kernel on a processor: the axes in the order of the output's memory, the innermost one in
/// vectors.
class PointwiseSchedule {
 public:
  PointwiseSchedule(const KernelBuilder& b, const std::vector<Var>& vars)
      : b_(b),
        vars_(vars),
        argument_(b.output()),
        order_(storage_order(argument_.strides)),
        threads_(b.kernel().threads) {}

  void apply(Func out) {
    if (order_.empty()) return;
    std::vector<Halide::VarOrRVar> inner_first;
    for (size_t i = order_.size(); i-- > 0;) inner_first.push_back(vars_[order_[i]]);
    // The innermost axis with more than one element is vectorized.
    at_ = order_.size() - 1;
    while (at_ > 0 && axis(at_) == 1) --at_;
    factor_ = vector_factor(typical(axis(at_)), b_.lanes());
    is_parallel_ = threads_ > 1 && element_count(typical_shape(argument_.shape)) >= 2 * min_task;
    out.reorder(inner_first);
    if (is_short()) return apply_across(out);
    if (axis(at_).is_number()) return apply_vectors(out);
    apply_vectors(out.specialize(b_.size(axis(at_)) >= factor_));
    if (at_ > 0) parallelize(out, at_);
  }

 private:
  const Dim& axis(size_t i) const { return argument_.shape[order_[i]]; }
  const Var& inner() const { return vars_[order_[at_]]; }

  /// Checks for a few elements, as the channels of a picture, inside of an axis that fills vectors.
  bool is_short() const {
    if (b_.kernel().form != Form::elementwise || at_ == 0 || !axis(at_).is_number()) return false;
    return axis(at_).number() <= 4 && axis(at_ - 1).is_number() && axis(at_ - 1).number() >= b_.lanes() &&
           argument_.strides[order_[at_ - 1]] == axis(at_);
  }

  /// Schedules vectors along the axis outside of the innermost one, which interleave in memory.
  void apply_across(Halide::Stage out) const {
    out.vectorize(vars_[order_[at_ - 1]], b_.lanes(), Halide::TailStrategy::ShiftInwards).unroll(inner());
    parallelize(out, at_ - 1);
  }

  /// Schedules the loops where the innermost axis has at least a vector.
  void apply_vectors(Halide::Stage out) const {
    if (is_parallel_ && at_ == 0) {
      const Var outer("task"), rest("rest");
      out.split(inner(), outer, rest, task_elements(), Halide::TailStrategy::ShiftInwards);
      out.vectorize(rest, factor_, Halide::TailStrategy::ShiftInwards).parallel(outer);
      return;
    }
    if (factor_ > 1) out.vectorize(inner(), factor_, Halide::TailStrategy::ShiftInwards);
    parallelize(out, at_);
  }

  /// Returns the elements of a task, at least a vector and at most all.
  Expr task_elements() const {
    const Dim& extent = axis(at_);
    if (!extent.is_number()) {
      const Expr all = b_.size(extent);
      const Expr share = (all / (4 * threads_) + factor_) / factor_ * factor_;
      return Halide::min(Halide::max(share, as_int(min_task)), all);
    }
    const int64_t tasks = std::min<int64_t>(4 * threads_, extent.number() / min_task);
    const int64_t chunk = (extent.number() / std::max<int64_t>(tasks, 1) + factor_ - 1) / factor_ * factor_;
    return as_int(std::min(chunk, extent.number()));
  }

  /// Shares the first of the outer `axes` that is long enough among threads.
  void parallelize(Halide::Stage out, size_t axes) const {
    for (size_t i = 0; is_parallel_ && i < axes; ++i)
      if (typical(axis(i)) >= threads_) {
        out.parallel(vars_[order_[i]]);
        return;
      }
  }

  const KernelBuilder& b_;
  const std::vector<Var>& vars_;
  const Argument& argument_;
  const std::vector<size_t> order_;  // axes, the outermost first
  const int threads_;
  size_t at_ = 0;  // place of the vectorized axis in the order
  int factor_ = 1;
  bool is_parallel_ = false;
};

}  // namespace

void schedule_pointwise(const KernelBuilder& b, Func out, const std::vector<Var>& vars) {
  PointwiseSchedule(b, vars).apply(std::move(out));
}

BuiltKernel build_pointwise(KernelBuilder& b) {
  std::vector<Var> vars = make_vars(b.output().shape.size(), "i");
  Exprs index = to_exprs(vars);
  Expr anchor = b.kernel().anchor == no_node ? Expr() : build_movement(b, b.anchor(), index);
  Func out("out");
  out(b.output_vars(vars)) = stored(b.result_at(index, anchor));
  if (b.mapping() == Mapping::tile_per_item)
    ItemSchedule(b, vars).apply(out);
  else
    schedule_pointwise(b, out, vars);
  return b.finish(out, b.output());
}

}  // namespace intarsia::halide
