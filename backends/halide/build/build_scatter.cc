// Updates at computed places: the output is the data, then each update changes the element that it finds, in
// the order of the updates.
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

}  // namespace intarsia::halide
