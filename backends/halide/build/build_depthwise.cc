// Depthwise convolution: one filter per channel. Vectors run over channels; a few pixels share the weights of
// the taps.
#include <algorithm>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/run_tiles.h"
#include "backends/halide/build/schedule_contraction.h"

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;
using Halide::VarOrRVar;

/// Bytes of staged input rows that one block may take.
constexpr int64_t stage_bytes = 192 * 1024;

struct Depthwise {
  Func out, acc;
  StagedInput stage;
  RDom taps;
  std::vector<Var> vars;  // variables of the output, in logical order
};

int64_t choose_pixels(int64_t width, int64_t most) {
  int64_t best = 1;
  for (int64_t t = 1; t <= std::min(width, most); ++t) {
    int64_t waste = (width + t - 1) / t * t - width, best_waste = (width + best - 1) / best * best - width;
    if (waste * best <= best_waste * t + width * (t - best) / 8) best = t;
  }
  return best;
}

void schedule(KernelBuilder& b, Depthwise& d, const Shape& shape, int64_t taps) {
  size_t rank = shape.size();
  int lanes = b.lanes();
  bool doubled = shape[1] >= 2 * lanes && b.isa().registers >= 32;
  int factor = vector_factor(shape[1], lanes), block_channels = doubled ? 2 * lanes : factor;
  int64_t pixels = choose_pixels(shape.back(), b.isa().registers >= 32 ? 8 : 4);
  Var c = d.vars[1], x = d.vars.back(), co("co"), ci("ci"), xo("xo"), xi("xi"), block("block"), rest("rest");
  d.out.split(c, co, ci, block_channels, TailStrategy::ShiftInwards)
      .split(x, xo, xi, as_int(pixels), TailStrategy::ShiftInwards);
  int64_t rows = shape[2],
          row_bytes = element_count(shape) / (shape[0] * rows) * b.type(b.body().outputs[0]).bytes();
  int64_t chunk = std::clamp<int64_t>(stage_bytes / row_bytes, std::min<int64_t>(rows, 4), rows);
  if (b.kernel().threads > 1)
    chunk =
        std::min(chunk, std::max<int64_t>((rows + 2 * b.kernel().threads - 1) / (2 * b.kernel().threads), 1));
  std::vector<Var> outer{co, xo};
  for (size_t i = rank - 2; i > 2; --i) outer.push_back(d.vars[i]);
  const bool in_blocks = rank > 3 && b.mapping() == Mapping::loops;
  if (in_blocks) {
    d.out.split(d.vars[2], block, rest, as_int(chunk), TailStrategy::ShiftInwards);
    outer.insert(outer.end(), {rest, block});
  } else if (rank > 3) {
    outer.push_back(d.vars[2]);
  }
  outer.push_back(d.vars[0]);
  std::vector<VarOrRVar> order{ci, xi};
  order.insert(order.end(), outer.begin(), outer.end());
  d.out.reorder(order).vectorize(ci, factor).unroll(ci).unroll(xi);
  d.acc.compute_at(run_tiles(b, d.out, outer)).reorder(d.acc.args()[0], d.acc.args()[1]);
  d.acc.vectorize(d.acc.args()[0], factor).unroll(d.acc.args()[0]).unroll(d.acc.args()[1]);
  std::vector<VarOrRVar> inner{d.acc.args()[0], d.acc.args()[1]};
  for (int i = 0; i < d.taps.dimensions(); ++i) inner.emplace_back(d.taps[i]);
  d.acc.update()
      .reorder(inner)
      .vectorize(d.acc.args()[0], factor)
      .unroll(d.acc.args()[0])
      .unroll(d.acc.args()[1]);
  for (int i = 0; taps <= 49 && i < d.taps.dimensions() && (i == 0 || taps <= 9); ++i)
    d.acc.update().unroll(d.taps[i]);
  Var level = in_blocks ? block : d.vars[0];
  if (d.stage.func.defined())
    d.stage.func.compute_at(d.out, level).vectorize(d.stage.vars[0], factor, TailStrategy::ShiftInwards);
  if (b.kernel().threads > 1 && rank > 3 && element_count(shape) * taps > 100000) d.out.parallel(block);
}

}  // namespace

BuiltKernel build_depthwise(KernelBuilder& b) {
  const Node& node = b.anchor();
  Shape weights = b.shape(node.inputs[1]), shape = b.shape(node.outputs[0]);
  Shape kernel(weights.begin() + 2, weights.end() - 2);
  Depthwise d;
  const bool is_guarded =
      b.mapping() == Mapping::loops &&
      b.kernel().contraction().schedule.algorithm == ContractionSchedule::Algorithm::depthwise_in_place;
  d.stage = is_guarded ? guard_conv_input(b, node, kernel) : conv_input(b, node, kernel);
  Halide::Region region;
  for (size_t i = kernel.size(); i-- > 0;) region.push_back({0, as_int(kernel[i])});
  d.taps = RDom(region, "r");
  d.vars = make_vars(shape.size(), "o");

  const ConvAttributes conv = attributes_of<ConvAttributes>(node);
  std::vector<Var> index{d.vars[1]};
  for (size_t i = shape.size(); i-- > 2;) index.push_back(d.vars[i]);
  index.push_back(d.vars[0]);
  Exprs at{d.vars[0], d.vars[1]}, weight_at{0, 0};
  for (size_t i = 0; i < kernel.size(); ++i) {
    Expr tap = d.taps[as_int(static_cast<int64_t>(kernel.size() - 1 - i))];
    at.push_back(d.vars[i + 2] * as_int(conv.strides[i]) + tap * as_int(conv.dilations[i]));
    weight_at.push_back(tap);
  }
  weight_at.push_back(0);
  weight_at.push_back(d.vars[1]);
  d.acc = Func("acc");
  d.acc(index) = Halide::Internal::make_zero(b.type(node.outputs[0]));
  d.acc(index) += b.operand(node.inputs[1]).at(weight_at) * d.stage.at(at);
  d.out = Func("out");
  d.out(b.output_vars(d.vars)) = stored(b.result_at(to_exprs(d.vars), d.acc(to_exprs(index))));
  schedule(b, d, shape, element_count(kernel));
  return b.finish(d.out, b.output());
}

}  // namespace intarsia::halide
