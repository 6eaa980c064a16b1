// Depthwise convolution: one filter per channel. Vectors run over channels; a few pixels share the weights of
// the taps.
#include <algorithm>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/convert.h"
#include "backends/halide/build/run_tiles.h"
#include "backends/halide/build/schedule_contraction.h"

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;
using Halide::VarOrRVar;

/// Returns the bytes of staged input rows that one block may take.
int64_t stage_bytes(const Isa& isa) { return std::min<int64_t>(192 * 1024, isa.block_bytes()); }

struct Depthwise {
  Func out, acc;
  StagedInput stage;
  int64_t element_bytes = 0;  // of the stage
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

class DepthwiseSchedule {
 public:
  DepthwiseSchedule(const KernelBuilder& b, Depthwise& d, const SymbolicShape& shape, int64_t taps)
      : b_(b),
        d_(d),
        shape_(shape),
        typical_(typical_shape(shape)),
        taps_(taps),
        factor_(vector_factor(typical_[1], b.lanes())),
        in_blocks_(shape.size() > 3 && b.mapping() == Mapping::loops) {}

  void apply() {
    const int64_t pixels = choose_pixels(typical_.back(), b_.isa().registers >= 32 ? 8 : 4);
    const Dim& width = shape_.back();
    if (width.is_number())
      schedule_tiles(d_.out, pixels);
    else
      for (int64_t t : narrower_tiles(pixels))
        schedule_tiles(t == 1 ? d_.out : d_.out.specialize(b_.size(width) >= as_int(t)), t);
    d_.acc.compute_at(tile_).reorder(d_.acc.args()[0], d_.acc.args()[1]);
    d_.acc.vectorize(d_.acc.args()[0], factor_).unroll(d_.acc.args()[0]).unroll(d_.acc.args()[1]);
    std::vector<VarOrRVar> inner{d_.acc.args()[0], d_.acc.args()[1]};
    for (int i = 0; i < d_.taps.dimensions(); ++i) inner.emplace_back(d_.taps[i]);
    d_.acc.update()
        .reorder(inner)
        .vectorize(d_.acc.args()[0], factor_)
        .unroll(d_.acc.args()[0])
        .unroll(d_.acc.args()[1]);
    for (int i = 0; taps_ <= 49 && i < d_.taps.dimensions() && (i == 0 || taps_ <= 9); ++i)
      d_.acc.update().unroll(d_.taps[i]);
    if (d_.stage.func.defined() && b_.isa().is_in_order()) d_.stage.func.store_in(Halide::MemoryType::Heap);
    if (d_.stage.func.defined())
      d_.stage.func.compute_at(d_.out, in_blocks_ ? block_ : d_.vars[0])
          .vectorize(d_.stage.vars[0], factor_, TailStrategy::ShiftInwards);
  }

 private:
  /// Schedules tiles of `pixels` of a row.
  void schedule_tiles(Halide::Stage out, int64_t pixels) {
    const size_t rank = shape_.size();
    const Var c = d_.vars[1], x = d_.vars.back();
    const bool doubled = typical_[1] >= 2 * b_.lanes() && b_.isa().registers >= 32;
    out.split(c, co_, ci_, doubled ? 2 * b_.lanes() : factor_, TailStrategy::ShiftInwards)
        .split(x, xo_, xi_, as_int(pixels), TailStrategy::ShiftInwards);
    std::vector<Var> outer{co_, xo_};
    for (size_t i = rank - 2; i > 2; --i) outer.push_back(d_.vars[i]);
    if (in_blocks_) {
      out.split(d_.vars[2], block_, rest_, depthwise_rows_of_block(b_, shape_, d_.element_bytes),
                shape_[2].is_number() ? TailStrategy::ShiftInwards : TailStrategy::GuardWithIf);
      outer.insert(outer.end(), {rest_, block_});
    } else if (rank > 3) {
      outer.push_back(d_.vars[2]);
    }
    outer.push_back(d_.vars[0]);
    std::vector<VarOrRVar> order{ci_, xi_};
    order.insert(order.end(), outer.begin(), outer.end());
    out.reorder(order).vectorize(ci_, factor_).unroll(ci_).unroll(xi_);
    tile_ = run_tiles(b_, d_.out, out, outer);
    if (b_.kernel().threads > 1 && rank > 3 && element_count(typical_) * taps_ > 100000) out.parallel(block_);
  }

  const KernelBuilder& b_;
  Depthwise& d_;
  const SymbolicShape& shape_;
  const Shape typical_;
  const int64_t taps_;
  const int factor_;
  const bool in_blocks_;
  const Var co_{"co"}, ci_{"ci"}, xo_{"xo"}, xi_{"xi"}, block_{"block"}, rest_{"rest"};
  Halide::LoopLevel tile_;
};

}  // namespace

Expr depthwise_rows_of_block(const KernelBuilder& b, const SymbolicShape& shape, int64_t bytes) {
  const int threads = b.kernel().threads;
  const Dim of_row = product_of_dims(shape, 3, shape.size()) * shape[1];
  if (!shape[2].is_number() || !of_row.is_number())
    return rows_of_equal_blocks(b.size(shape[2]), as_int(stage_bytes(b.isa()) / bytes) / b.size(of_row),
                                threads > 1 ? 2 * threads : 1);
  const int64_t rows = shape[2].number();
  int64_t chunk =
      std::clamp<int64_t>(stage_bytes(b.isa()) / (of_row.number() * bytes), std::min<int64_t>(rows, 4), rows);
  if (threads > 1) chunk = std::min(chunk, std::max<int64_t>((rows + 2 * threads - 1) / (2 * threads), 1));
  // The last block starts early where it would be short, and computes rows again.
  const int64_t blocks = (rows + chunk - 1) / chunk;
  return as_int((rows + blocks - 1) / blocks);
}

BuiltKernel build_depthwise(KernelBuilder& b) {
  if (multiplies_pairs_of_taps(b)) return build_depthwise_on_words(b);
  const Node& node = b.anchor();
  const Shape weights = b.shape(node.inputs[1]);
  const SymbolicShape& shape = b.sizes(node.outputs[0]);
  const Shape kernel(weights.begin() + 2, weights.end() - 2);
  Depthwise d;
  const bool is_guarded =
      b.mapping() == Mapping::loops &&
      b.kernel().contraction().schedule.algorithm == ContractionSchedule::Algorithm::depthwise_in_place;
  // Sums of few products of integers of 8 bits are exact in f32, whose multiply-adds are the fastest, but
  // for microcontrollers without vectors, whose f32 takes two instructions, and twice the memory of i16.
  const Halide::Type sums = b.type(node.outputs[0]);
  const bool in_words = sums.is_int() && b.isa().multiplies_words();
  const Halide::Type type = in_words ? Halide::Int(16) : sums.is_int() ? Halide::Float(32) : sums;
  const Halide::Type sum_type = in_words ? sums : type;
  const auto as = b.type(node.inputs[0]) == type ? std::nullopt : std::optional(StageAs{type});
  d.stage = is_guarded ? guard_conv_input(b, node, kernel) : conv_input(b, node, kernel, as);
  d.element_bytes = type.bytes();
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
  d.acc(index) = Halide::Internal::make_zero(sum_type);
  d.acc(index) += Halide::cast(sum_type, convert(type, b.operand(node.inputs[1]).at(weight_at))) *
                  Halide::cast(sum_type, convert(type, d.stage.at(at)));
  d.out = Func("out");
  d.out(b.output_vars(d.vars)) =
      stored(b.result_at(to_exprs(d.vars), Halide::cast(sums, d.acc(to_exprs(index)))));
  DepthwiseSchedule(b, d, shape, element_count(kernel)).apply();
  return b.finish(d.out, b.output());
}

}  // namespace intarsia::halide
