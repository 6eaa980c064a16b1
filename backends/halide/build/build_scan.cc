// Running sums: each element depends on the one before it along one axis.
#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/run_tiles.h"

namespace intarsia::halide {

BuiltKernel build_scan(KernelBuilder& b) {
  const Node& node = b.anchor();
  const FixedArgument& argument = b.output();
  const auto [scanned, exclusive, reverse] = attributes_of<CumSumAttributes>(node);
  const auto axis = static_cast<size_t>(scanned);
  std::vector<Var> vars = make_vars(argument.shape.size(), "i");
  int last = static_cast<int>(argument.shape[axis]) - 1;

  // sum(k) is the sum of the first k elements in scanning order.
  Func sum("sum"), out("out");
  RDom r(0, last + 1, "r");
  Exprs from = to_exprs(vars), before = to_exprs(vars), after = to_exprs(vars);
  from[axis] = reverse ? last - r : Expr(r);
  before[axis] = r;
  after[axis] = r + 1;
  sum(vars) = Halide::Internal::make_zero(b.type(node.outputs[0]));
  sum(after) = sum(before) + b.operand(node.inputs[0]).at(from);
  Exprs index = to_exprs(vars), at = index;
  Expr place = reverse ? last - index[axis] : index[axis];
  at[axis] = exclusive ? place : place + 1;
  out(b.output_vars(vars)) = stored(b.result_at(index, sum(at)));
  if (b.mapping() == Mapping::loops) {
    sum.compute_root();
    return b.finish(out, argument);
  }
  // A work item has the sums along the axis.
  std::vector<Var> loops{vars[axis]};
  std::vector<Var> outer;
  for (size_t i = vars.size(); i-- > 0;)
    if (i != axis) outer.push_back(vars[i]);
  loops.insert(loops.end(), outer.begin(), outer.end());
  out.reorder(std::vector<Halide::VarOrRVar>(loops.begin(), loops.end()));
  sum.compute_at(run_tiles(b, out, outer));
  return b.finish(out, argument);
}

}  // namespace intarsia::halide
