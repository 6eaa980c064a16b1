// Running sums and products: each element depends on the one before it along one axis.
#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/run_tiles.h"

namespace intarsia::halide {
namespace {

Expr joined(const Node& node, const Expr& so_far, const Expr& next) {
  return op_of(node) == CoreOp::cum_prod ? so_far * next : so_far + next;
}

/// Returns the result of no elements.
Expr nothing(const Node& node, const Halide::Type& type) {
  return Halide::Internal::make_const(type, op_of(node) == CoreOp::cum_prod ? 1 : 0);
}

/// Scans in the output itself, from which the result so far is read again: a work item has no room for a long
/// axis. The kernel computes nothing after the scan (fuse.cc).
BuiltKernel scan_in_output(KernelBuilder& b) {
  const Node& node = b.anchor();
  const auto [scanned, exclusive, reverse] = attributes_of<ScanAttributes>(node);
  const auto axis = static_cast<size_t>(scanned);
  const std::vector<Var> vars = make_vars(b.output().shape.size(), "i");
  const Dim& extent = b.output().shape[axis];
  const Expr last = b.size(extent - 1);
  const RDom r(0, b.size(extent), "r");
  const Expr step = r, place = reverse ? last - step : step,
             before = Halide::clamp(reverse ? place + 1 : place - 1, 0, last);
  Exprs to = to_exprs(b.output_vars(vars)), so_far = to, from = to_exprs(vars);
  to[axis] = place, so_far[axis] = before, from[axis] = exclusive ? before : place;

  Func out("out");
  const Halide::Type type = b.type(node.outputs[0]);
  const Expr first = nothing(node, type), next = b.operand(node.inputs[0]).at(from);
  out(b.output_vars(vars)) = Halide::undef(type);
  out(to) = Halide::select(step == 0, exclusive ? first : next, joined(node, out(so_far), next));
  std::vector<Var> outer;
  for (size_t i = vars.size(); i-- > 0;)
    if (i != axis) outer.push_back(vars[i]);
  make_items(b, out.update(), outer);
  return b.finish(out, b.output());
}

}  // namespace

BuiltKernel build_scan(KernelBuilder& b) {
  if (b.mapping() == Mapping::tile_per_item) return scan_in_output(b);
  const Node& node = b.anchor();
  const auto [scanned, exclusive, reverse] = attributes_of<ScanAttributes>(node);
  const auto axis = static_cast<size_t>(scanned);
  std::vector<Var> vars = make_vars(b.output().shape.size(), "i");
  const Expr last = b.size(b.output().shape[axis] - 1);

  // result(k) is that of the first k elements in scanning order.
  Func result("result"), out("out");
  RDom r(0, last + 1, "r");
  Exprs from = to_exprs(vars), before = to_exprs(vars), after = to_exprs(vars);
  from[axis] = reverse ? last - Expr(r) : Expr(r);
  before[axis] = r;
  after[axis] = r + 1;
  result(vars) = nothing(node, b.type(node.outputs[0]));
  result(after) = joined(node, result(before), b.operand(node.inputs[0]).at(from));
  Exprs index = to_exprs(vars), at = index;
  Expr place = reverse ? last - index[axis] : index[axis];
  at[axis] = exclusive ? place : place + 1;
  out(b.output_vars(vars)) = stored(b.result_at(index, result(at)));
  result.compute_root();
  return b.finish(out, b.output());
}

}  // namespace intarsia::halide
