#include "backends/halide/build/schedule_contraction.h"

namespace intarsia::halide {
namespace {

/// What lies before, behind and between the elements of one spatial axis.
struct AxisBorder {
  int64_t size, begin, spread;
  bool before, behind;
};

AxisBorder border_of(const ConvAttributes& conv, const Shape& in, const Shape& out, const Shape& kernel,
                     size_t axis) {
  int64_t begin = conv.pads[axis], spread = conv.spread[axis];
  int64_t last = (out[axis + 2] - 1) * conv.strides[axis] + (kernel[axis] - 1) * conv.dilations[axis] - begin;
  int64_t size = in[axis + 2];
  return {size, begin, spread, begin > 0, last > (size - 1) * spread};
}

/// Is it in memory with the channels of a pixel side by side?
bool has_dense_pixels(const KernelBuilder& b, ValueId value) {
  for (size_t i = 0; i < b.body().inputs.size(); ++i)
    if (b.body().inputs[i] == value)
      return b.kernel().inputs[i].strides[1] == 1 || b.kernel().inputs[i].shape[1] == 1;
  return false;
}

}  // namespace

StagedInput guard_conv_input(KernelBuilder& b, const Node& node, const Shape& kernel) {
  const Shape in = b.shape(node.inputs[0]), out = b.shape(node.outputs[0]);
  std::vector<AxisBorder> borders;
  const ConvAttributes conv = attributes_of<ConvAttributes>(node);
  for (size_t i = 0; i < kernel.size(); ++i) borders.push_back(border_of(conv, in, out, kernel, i));
  return {Func(), {}, [from = b.operand(node.inputs[0]).at, borders](const Exprs& index) {
            Exprs at = index;
            Expr outside = Halide::Internal::make_bool(false);
            for (size_t i = 0; i < borders.size(); ++i) {
              const AxisBorder& border = borders[i];
              Expr& place = at[i + 2];
              place -= as_int(border.begin);
              if (border.before) outside = outside || place < 0;
              if (border.behind) outside = outside || place > as_int(border.size - 1);
              if (border.before || border.behind)
                place = Halide::clamp(Halide::likely(place), 0, as_int(border.size - 1));
            }
            Expr value = from(at);
            return Halide::select(outside, Halide::Internal::make_zero(value.type()), Halide::likely(value));
          }};
}

StagedInput stage_conv_input(KernelBuilder& b, const Node& node, const Shape& kernel) {
  Shape in = b.shape(node.inputs[0]), out = b.shape(node.outputs[0]);
  std::vector<AxisBorder> borders;
  bool plain = has_dense_pixels(b, node.inputs[0]);
  bool negative = false;
  const ConvAttributes conv = attributes_of<ConvAttributes>(node);
  for (size_t i = 0; i < kernel.size(); ++i) {
    borders.push_back(border_of(conv, in, out, kernel, i));
    plain = plain && !borders[i].before && !borders[i].behind && borders[i].spread == 1;
    negative = negative || borders[i].begin < 0;
  }
  const Operand& from = b.operand(node.inputs[0]);
  auto shifted = [&](Exprs at) {
    for (size_t i = 0; i < borders.size(); ++i) at[i + 2] -= as_int(borders[i].begin);
    return at;
  };
  if (plain)
    return {Func(), {}, [at = from.at, shifted, borders](const Exprs& index) {
              Exprs moved = index;
              for (size_t i = 0; i < borders.size(); ++i) moved[i + 2] -= as_int(borders[i].begin);
              return at(moved);
            }};
  Func stage("stage");
  Var n("n"), c("c");
  std::vector<Var> axes = make_vars(kernel.size(), "p"), vars{c};
  vars.insert(vars.end(), axes.rbegin(), axes.rend());
  vars.push_back(n);
  Exprs at{n, c};
  at.insert(at.end(), axes.begin(), axes.end());
  at = shifted(at);
  Expr inside = Halide::Internal::make_bool(true);
  for (size_t i = 0; i < borders.size(); ++i) {
    Expr& place = at[i + 2];
    const AxisBorder& border = borders[i];
    if (border.before) inside = inside && place >= 0;
    if (border.behind) inside = inside && place <= as_int((border.size - 1) * border.spread);
    if (border.spread > 1)
      inside = inside && place % as_int(border.spread) == 0, place = place / as_int(border.spread);
    if (border.before || border.behind) place = Halide::clamp(place, 0, as_int(border.size - 1));
  }
  Expr value = from.at(at);
  stage(vars) = Halide::select(inside, value, Halide::Internal::make_zero(value.type()));
  return {stage, vars, [stage, count = kernel.size()](const Exprs& index) {
            Exprs use{index[1]};
            for (size_t i = count; i-- > 0;) use.push_back(index[i + 2]);
            use.push_back(index[0]);
            return stage(use);
          }};
}

}  // namespace intarsia::halide
