// Elementwise and data movement kernels: each output element on its own, in the order of the output's memory.
#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/run_tiles.h"

namespace intarsia::halide {
namespace {

/// Elements per task below which a parallel loop costs more than it saves.
constexpr int64_t min_task = 8192;

/// Elements of a work item on a device that is a processor, if the axes allow it.
constexpr int64_t item_elements = 1024;

/// Schedules work items: vectors along the innermost axis, whole axes outside it while a work item is not too
/// long. Where groups run side by side, an item has one element, so that neighbors are neighbors in memory.
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
  const int64_t most = b.isa().runs_groups() ? 1 : item_elements;
  const int64_t extent = argument.shape[order[at]], elements = std::min(extent, most);
  const int factor = vector_factor(elements, b.lanes());
  out.split(inner, chunk, rest, as_int(elements), Halide::TailStrategy::ShiftInwards)
      .split(rest, rest, lane, factor, Halide::TailStrategy::ShiftInwards);
  inside = {lane, rest};
  outside.push_back(chunk);
  int64_t size = elements;
  for (size_t i = order.size(); i-- > 0;) {
    if (i == at) continue;
    size *= argument.shape[order[i]];
    if (size <= most)
      inside.emplace_back(vars[order[i]]);
    else
      outside.push_back(vars[order[i]]);
  }
  inside.insert(inside.end(), outside.begin(), outside.end());
  out.reorder(inside).vectorize(lane);
  run_tiles(b, out, outside);
}

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
    if (axis(at_).is_number()) return apply_vectors(out);
    apply_vectors(out.specialize(b_.size(axis(at_)) >= factor_));
    if (at_ > 0) parallelize(out);
  }

 private:
  const Dim& axis(size_t i) const { return argument_.shape[order_[i]]; }
  const Var& inner() const { return vars_[order_[at_]]; }

  /// Schedules the loops where the innermost axis has at least a vector.
  void apply_vectors(Halide::Stage out) const {
    if (is_parallel_ && at_ == 0) {
      const Var outer("task"), rest("rest");
      out.split(inner(), outer, rest, task_elements(), Halide::TailStrategy::ShiftInwards);
      out.vectorize(rest, factor_, Halide::TailStrategy::ShiftInwards).parallel(outer);
      return;
    }
    if (factor_ > 1) out.vectorize(inner(), factor_, Halide::TailStrategy::ShiftInwards);
    parallelize(out);
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

  void parallelize(Halide::Stage out) const {
    for (size_t i = 0; is_parallel_ && i < at_; ++i)
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

BuiltKernel build_pointwise(KernelBuilder& b) {
  std::vector<Var> vars = make_vars(b.output().shape.size(), "i");
  Exprs index = to_exprs(vars);
  Expr anchor = b.kernel().anchor == no_node ? Expr() : build_movement(b, b.anchor(), index);
  Func out("out");
  out(b.output_vars(vars)) = stored(b.result_at(index, anchor));
  if (b.mapping() == Mapping::tile_per_item)
    schedule_items(b, out, vars, b.fixed_output());
  else
    PointwiseSchedule(b, vars).apply(out);
  return b.finish(out, b.output());
}

}  // namespace intarsia::halide
