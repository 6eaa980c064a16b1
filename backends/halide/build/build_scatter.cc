// Updates at computed places: the output is the data, then each update changes the element that it finds, in
// the order of the updates. The places of a Fold follow from the loops: each tap of all windows is added to
// an image of zeros where it lies.
#include <algorithm>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/math.h"

namespace intarsia::halide {
namespace {

using Halide::select;

/// Elements of updates below which a parallel loop costs more than it saves.
constexpr int64_t min_parallel_updates = 16384;

Expr updated(Update how, const Expr& old, const Expr& by) {
  switch (how) {
    case Update::none:
      return by;
    case Update::add:
      return old + by;
    case Update::mul:
      return old * by;
    case Update::max:
      return strictly({old, by}, [](const Exprs& in) { return select(in[0] < in[1], in[1], in[0]); });
    case Update::min:
      return strictly({old, by}, [](const Exprs& in) { return select(in[1] < in[0], in[1], in[0]); });
  }
  return by;
}

/// An update: where it is, and where it goes. Along axes with a variable of the output, an update goes to the
/// place that it has; so updates of different values of the variable never meet.
struct Places {
  Exprs from, to;
  std::vector<bool> is_free;  // by axis of the output: whether `to` is its variable
  std::vector<RVar> loops;    // innermost last
};

/// Returns variables of a reduction over these ranges, the last of which is the innermost loop.
std::vector<RVar> in_order(const Halide::Region& ranges) {
  std::vector<RVar> loops;
  if (ranges.empty()) return loops;
  const RDom r(Halide::Region(ranges.rbegin(), ranges.rend()), "r");
  for (int i = r.dimensions(); i-- > 0;) loops.push_back(r[i]);
  return loops;
}

Places elements_places(KernelBuilder& b, const std::vector<Var>& vars) {
  const Node& node = b.anchor();
  const auto axis = static_cast<size_t>(attributes_of<ScatterAttributes>(node).axis);
  const SymbolicShape &data = b.sizes(node.inputs[0]), &indices = b.sizes(node.inputs[1]);
  Places places;
  Halide::Region ranges;
  for (size_t i = 0; i < data.size(); ++i) {
    places.is_free.push_back(i != axis && provably_equal(data[i], indices[i]));
    if (!places.is_free[i]) ranges.emplace_back(0, b.size(indices[i]));
  }
  const std::vector<RVar> loops = in_order(ranges);
  for (size_t i = 0; i < data.size(); ++i) {
    if (!places.is_free[i]) places.loops.push_back(loops[places.loops.size()]);
    places.from.push_back(places.is_free[i] ? Expr(vars[i]) : Expr(places.loops.back()));
  }
  places.to = places.from;
  places.to[axis] = data_index(b.operand(node.inputs[1]).at(places.from), b.size(data[axis]));
  return places;
}

Places tuple_places(KernelBuilder& b, const std::vector<Var>& vars) {
  const Node& node = b.anchor();
  const SymbolicShape &data = b.sizes(node.inputs[0]), &indices = b.sizes(node.inputs[1]);
  const auto depth = static_cast<size_t>(indices.back().number());
  Halide::Region ranges;
  for (size_t i = 0; i + 1 < indices.size(); ++i) ranges.emplace_back(0, b.size(indices[i]));
  Places places;
  places.loops = in_order(ranges);
  for (size_t i = 0; i + 1 < indices.size(); ++i) places.from.emplace_back(places.loops[i]);
  for (size_t k = 0; k < depth; ++k) {
    Exprs which = places.from;
    which.push_back(as_int(static_cast<int64_t>(k)));
    places.to.push_back(data_index(b.operand(node.inputs[1]).at(which), b.size(data[k])));
  }
  for (size_t i = 0; i < data.size(); ++i) {
    places.is_free.push_back(i >= depth);
    if (i < depth) continue;
    places.from.emplace_back(vars[i]);
    places.to.emplace_back(vars[i]);
  }
  return places;
}

/// Schedules the updates: outside a loop over what never meets, shared among threads, then the updates in
/// their order, inside vectors of what is contiguous.
void schedule_updates(KernelBuilder& b, Halide::Stage stage, const std::vector<Var>& vars,
                      const Places& places) {
  const SymbolicShape& sizes = b.output().shape;
  std::vector<size_t> order = storage_order(b.output().strides);  // the outermost first
  std::erase_if(order, [&](size_t axis) { return !places.is_free[axis]; });
  std::vector<Halide::VarOrRVar> loops;  // the innermost first
  const bool has_vectors = !order.empty() && b.output().strides[order.back()] == 1;
  const size_t inside = has_vectors ? order.back() : 0;
  if (has_vectors) loops.emplace_back(vars[inside]);
  for (size_t i = places.loops.size(); i-- > 0;) loops.emplace_back(places.loops[i]);
  if (has_vectors) order.pop_back();
  for (size_t i = order.size(); i-- > 0;) loops.emplace_back(vars[order[i]]);
  if (loops.size() > 1) stage.reorder(loops);
  if (has_vectors) {
    const int factor = vector_factor(typical(sizes[inside]), b.lanes());
    if (factor > 1) stage.vectorize(vars[inside], factor, Halide::TailStrategy::GuardWithIf);
  }
  const int64_t updates = element_count(typical_shape(b.sizes(b.anchor().inputs[2])));
  if (b.kernel().threads > 1 && updates >= min_parallel_updates && !order.empty() &&
      typical(sizes[order[0]]) >= b.kernel().threads)
    stage.parallel(vars[order[0]]);
}

/// Windows one of whose taps is inside the image along an axis: first ... first + count - 1.
struct Inside {
  int64_t first = 0, count = 0;
};

/// `at`: where the tap of window 0 is.
Inside windows_inside(int64_t at, int64_t stride, int64_t windows, int64_t image) {
  const int64_t first = at >= 0 ? 0 : (stride - 1 - at) / stride;
  const int64_t end = at >= image ? 0 : std::min(windows, (image - 1 - at) / stride + 1);
  return {first, std::max<int64_t>(end - first, 0)};
}

/// Adds the taps one after the other to the images of channels.
class TapAdder {
 public:
  TapAdder(KernelBuilder& b, Func sums, const std::vector<Var>& vars)
      : b_(b),
        fold_(attributes_of<FoldAttributes>(b.anchor())),
        sums_(std::move(sums)),
        vars_(vars),
        axes_(vars.size() - 2),
        in_(b.sizes(b.anchor().inputs[0])) {}

  void add_all() {
    Shape tap(axes_, 0);
    for (size_t axis = axes_; axis > 0;) {
      add(tap);
      // The next tap in row-major order.
      for (axis = axes_; axis > 0 && ++tap[axis - 1] == in_[1 + axis].number(); --axis) tap[axis - 1] = 0;
    }
  }

 private:
  void add(const Shape& tap) {
    Exprs from{vars_[0], vars_[1]}, to = from;
    for (int64_t t : tap) from.emplace_back(as_int(t));
    Halide::Region ranges(axes_);
    std::vector<int64_t> starts(axes_);
    for (size_t i = 0; i < axes_; ++i) {
      starts[i] = tap[i] * fold_.dilations[i] - fold_.pads[i];
      const Inside inside = windows_inside(starts[i], fold_.strides[i], in_[2 + axes_ + i].number(),
                                           b_.output().shape[2 + i].number());
      if (inside.count == 0) return;
      ranges[axes_ - 1 - i] = {as_int(inside.first), as_int(inside.count)};  // the innermost first
    }
    const RDom r(ranges, "window");
    for (size_t i = 0; i < axes_; ++i) {
      const RVar& window = r[static_cast<int>(axes_ - 1 - i)];
      from.emplace_back(window);
      to.push_back(window * as_int(fold_.strides[i]) + as_int(starts[i]));
    }
    sums_(to) += b_.operand(b_.anchor().inputs[0]).at(from);
    const int factor = vector_factor(*Halide::Internal::as_const_int(ranges[0].extent), b_.lanes());
    // Windows of a row put one tap in places of their own.
    if (fold_.strides.back() == 1 && factor > 1)
      sums_.update(updates_).allow_race_conditions().vectorize(r[0], factor,
                                                               Halide::TailStrategy::GuardWithIf);
    ++updates_;
  }

  KernelBuilder& b_;
  const FoldAttributes fold_;
  Func sums_;
  const std::vector<Var>& vars_;
  const size_t axes_;  // of the image
  const SymbolicShape& in_;
  int updates_ = 0;
};

}  // namespace

BuiltKernel build_scatter(KernelBuilder& b) {
  const Node& node = b.anchor();
  const std::vector<Var> vars = make_vars(b.output().shape.size(), "i");
  const Places places = op_of(node) == CoreOp::scatter_nd ? tuple_places(b, vars) : elements_places(b, vars);
  Func out("out");
  out(vars) = stored(b.operand(node.inputs[0]).at(to_exprs(vars)));
  schedule_pointwise(b, out, vars);
  const Update how = attributes_of<ScatterAttributes>(node).update;
  out(places.to) = updated(how, out(places.to), stored(b.operand(node.inputs[2]).at(places.from)));
  schedule_updates(b, out.update(), vars, places);
  return b.finish(out, b.output());
}

BuiltKernel build_fold(KernelBuilder& b) {
  const std::vector<Var> vars = make_vars(b.output().shape.size(), "i");
  Func sums("sums"), out("out");
  sums(vars) = Halide::Internal::make_zero(b.type(b.anchor().outputs[0]));
  TapAdder(b, sums, vars).add_all();
  out(vars) = sums(to_exprs(vars));
  schedule_pointwise(b, out, vars);
  const std::vector<Var> inner_first(vars.rbegin(), vars.rend());
  sums.reorder_storage(inner_first).compute_at(out, vars[1]);
  sums.reorder(std::vector<Halide::VarOrRVar>(inner_first.begin(), inner_first.end()));
  const int factor = vector_factor(b.output().shape.back().number(), b.lanes());
  if (factor > 1) sums.vectorize(vars.back(), factor, Halide::TailStrategy::GuardWithIf);
  return b.finish(out, b.output());
}

}  // namespace intarsia::halide
