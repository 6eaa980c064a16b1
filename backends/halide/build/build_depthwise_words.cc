// Depthwise convolution of integers of 8 bits on microcontrollers without vectors: pixels of a row are
// neighbors in a copy of the input, so that a word has two taps of a pixel, and one instruction adds both
// products. Weights stay in registers while the pixels of a channel pass.
#include <algorithm>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/convert.h"
#include "backends/halide/build/dsp_products.h"
#include "backends/halide/build/schedule_contraction.h"

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;
using Halide::VarOrRVar;

constexpr int channels_of_copy = 4;  // channels of a pixel that are copied at once

/// Returns the largest number of pixels that divides a row and whose sums fit the registers.
int64_t pixels_of_tile(int64_t width) {
  int64_t pixels = 5;
  while (width % pixels != 0) --pixels;
  return pixels;
}

class DepthwiseOnWords {
 public:
  explicit DepthwiseOnWords(KernelBuilder& b)
      : b_(b),
        node_(b.anchor()),
        conv_(attributes_of<ConvAttributes>(node_)),
        sizes_(b.sizes(node_.outputs[0])),
        vars_(make_vars(sizes_.size(), "o")) {
    const Shape weights = b.shape(node_.inputs[1]);
    kernel_.assign(weights.begin() + 2, weights.end() - 2);
    pixels_ = pixels_of_tile(sizes_.back().number());
    last_place_ = (pixels_ - 1) * conv_.strides.back() + kernel_.back() - 1;
  }

  BuiltKernel build() {
    stage_ = conv_input(b_, node_, kernel_, StageAs{Halide::Int(16)});
    sum_pixels();
    Exprs at = to_exprs(vars_), sums;
    at.back() = vars_.back() * as_int(pixels_) + pixel_;
    for (int i = 0; i < pixels_; ++i) sums.push_back(sum_of(i));
    const Expr sum = pixels_ == 1 ? sums[0] : Halide::mux(pixel_, sums);
    std::vector<Var> vars = vars_;
    vars.push_back(pixel_);
    out_(b_.output_vars(vars)) = stored(b_.result_at(at, sum));
    schedule();
    return b_.finish(out_, seen_argument());
  }

 private:
  /// Sums all pixels of a tile row by row of taps, so that a row's weights and inputs are read once.
  void sum_pixels() {
    const Shape outer(kernel_.begin(), kernel_.end() - 1);
    for (int64_t row = 0; row < element_count(outer); ++row) {
      Exprs sums;
      for (int i = 0; i < pixels_; ++i)
        sums.push_back(add_row(row == 0 ? Expr() : sum_of(i), taps_of(row, outer), i));
      acc_(sum_index()) = Halide::Tuple(sums);
    }
  }

  std::vector<Var> sum_index() const { return {vars_.rbegin(), vars_.rend()}; }

  Expr sum_of(int pixel) const {
    const Halide::FuncRef sums = acc_(sum_index());
    return pixels_ == 1 ? Expr(sums) : sums[pixel];
  }

  /// Returns the taps along the axes before the last one.
  static Shape taps_of(int64_t row, const Shape& outer) {
    Shape taps(outer.size());
    for (size_t i = outer.size(); i-- > 0; row /= outer[i]) taps[i] = row % outer[i];
    return taps;
  }

  /// Returns an element that the tile reads; `place` counts along the last axis.
  Expr input(const Shape& taps, int64_t place) const {
    Exprs at{vars_[0], vars_[1]};
    for (size_t i = 0; i + 1 < kernel_.size(); ++i)
      at.push_back(vars_[i + 2] * as_int(conv_.strides[i]) + as_int(taps[i] * conv_.dilations[i]));
    at.push_back(vars_.back() * as_int(pixels_ * conv_.strides.back()) + as_int(place));
    return stage_.at(at);
  }

  /// Returns the word at an even place of the tile; at the last place it may have one element.
  Expr input_word(const Shape& taps, int64_t place) const {
    const Expr first = input(taps, place);
    return place < last_place_ ? pair_of(first, input(taps, place + 1)) : Halide::cast<int32_t>(first);
  }

  Expr weight(const Shape& taps, int64_t tap) const {
    Exprs at{0, 0};
    for (size_t i = 0; i + 1 < kernel_.size(); ++i) at.emplace_back(as_int(taps[i]));
    at.insert(at.end(), {as_int(tap), 0, vars_[1]});
    return convert(Halide::Int(16), b_.operand(node_.inputs[1]).at(at));
  }

  Expr weight_word(const Shape& taps, int64_t tap) const {
    return pair_of(weight(taps, tap), weight(taps, tap + 1));
  }

  /// Returns the half of a word that some pixel multiplies as a pair.
  HalfWord half_weight(const Shape& taps, int64_t tap) const {
    if (kernel_.back() == 1) return {Halide::cast<int32_t>(weight(taps, tap)), 0};
    const int half = tap + 1 < kernel_.back() ? 0 : 1;
    return {weight_word(taps, tap - half), half};
  }

  /// Adds the products of a row of taps for a pixel of the tile: pairs where the input has a whole word.
  Expr add_row(Expr sum, const Shape& taps, int64_t pixel) const {
    const int64_t begin = pixel * conv_.strides.back();
    for (int64_t tap = 0; tap < kernel_.back(); ++tap) {
      const int64_t place = begin + tap;
      const int half = as_int(place % 2);
      const Expr word = input_word(taps, place - half);
      if (half == 0 && tap + 1 < kernel_.back())
        sum = add_pair_product(sum, word, weight_word(taps, tap++));
      else
        sum = add_half_product(sum, {word, half}, half_weight(taps, tap));
    }
    return sum;
  }

  void schedule() {
    const Var block("block"), rest("rest");
    const bool in_blocks = sizes_.size() > 3;
    std::vector<VarOrRVar> order{pixel_, vars_.back()};
    for (size_t i = sizes_.size() - 2; i > 2; --i) order.emplace_back(vars_[i]);
    if (in_blocks) {
      out_.split(vars_[2], block, rest, depthwise_rows_of_block(b_, sizes_, int64_t{2}),
                 sizes_[2].is_number() ? TailStrategy::ShiftInwards : TailStrategy::GuardWithIf);
      order.emplace_back(rest);
    }
    order.emplace_back(vars_[1]);
    if (in_blocks) order.emplace_back(block);
    order.emplace_back(vars_[0]);
    out_.reorder(order).unroll(pixel_);
    if (in_blocks && b_.kernel().threads > 1) out_.parallel(block);
    acc_.compute_at(out_, vars_.back());
    std::vector<Var> storage(stage_.vars.begin() + 1, stage_.vars.end() - 1);
    storage.insert(storage.end(), {stage_.vars[0], stage_.vars.back()});
    stage_.func.reorder_storage(storage)
        .compute_at(out_, in_blocks ? block : vars_[0])
        .store_in(Halide::MemoryType::Heap);
    const Var several("several"), channel("channel");
    if (sizes_[1].number() % channels_of_copy == 0)
      stage_.func.split(stage_.vars[0], several, channel, channels_of_copy).unroll(channel);
  }

  /// Returns the output with the last axis as (tile, pixel).
  Argument seen_argument() const {
    Argument seen = b_.output();
    const Dim step = seen.strides.back();
    seen.shape.back() = sizes_.back().number() / pixels_;
    seen.strides.back() = step * pixels_;
    seen.shape.push_back(pixels_);
    seen.strides.push_back(step);
    return seen;
  }

  KernelBuilder& b_;
  const Node& node_;
  const ConvAttributes conv_;
  const SymbolicShape& sizes_;
  const std::vector<Var> vars_;  // of the output, the last one counts tiles
  const Var pixel_{"pixel"};
  Shape kernel_;
  int64_t pixels_ = 1, last_place_ = 0;  // pixels of a tile, the last place of a row that it reads
  StagedInput stage_;
  Func acc_{"acc"}, out_{"out"};
};

}  // namespace

bool multiplies_pairs_of_taps(const KernelBuilder& b) {
  constexpr int64_t most_taps = 49;
  const Node& node = b.anchor();
  if (!b.isa().multiplies_words()) return false;
  const Shape weights = b.shape(node.inputs[1]);
  return b.type(node.outputs[0]).is_int() && b.sizes(node.outputs[0]).back().is_number() &&
         attributes_of<ConvAttributes>(node).dilations.back() == 1 &&
         element_count({weights.begin() + 2, weights.end() - 2}) <= most_taps;
}

BuiltKernel build_depthwise_on_words(KernelBuilder& b) { return DepthwiseOnWords(b).build(); }

}  // namespace intarsia::halide
