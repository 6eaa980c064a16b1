#include <algorithm>

#include "backends/halide/build/convert.h"
#include "backends/halide/build/dsp_products.h"
#include "backends/halide/build/schedule_contraction.h"

namespace intarsia::halide {
namespace {

/// Zeros before, after and between the elements of one spatial axis.
struct AxisPadding {
  Expr begin;          // number of zeros before the first element
  Expr last, reach;    // places of the last element, without and with zeros between the elements
  int64_t dilation;    // distance of the elements
  bool before, after;  // whether there may be zeros before and after the elements
};

AxisPadding padding_of(const KernelBuilder& b, const Node& node, int64_t taps, size_t axis,
                       int64_t more_pixels) {
  const ConvAttributes conv = attributes_of<ConvAttributes>(node);
  const Dim &in = b.sizes(node.inputs[0])[axis + 2], &begin = conv.pads[axis];
  const Dim out = b.sizes(node.outputs[0])[axis + 2] + more_pixels;
  const int64_t dilation = conv.input_dilations[axis];
  const Dim read = (out - 1) * conv.strides[axis] + (taps - 1) * conv.dilations[axis] - begin,
            reach = (in - 1) * dilation;
  return {b.size(begin),
          b.size(in - 1),
          b.size(reach),
          dilation,
          !provably_nonnegative(0 - begin),
          !provably_nonnegative(reach - read)};
}

/// Returns the padding of each axis, of the last one such that `more_pixels` can be computed after it.
std::vector<AxisPadding> paddings_of(const KernelBuilder& b, const Node& node, const Shape& kernel,
                                     int64_t more_pixels = 0) {
  std::vector<AxisPadding> paddings;
  for (size_t i = 0; i < kernel.size(); ++i)
    paddings.push_back(padding_of(b, node, kernel[i], i, i + 1 == kernel.size() ? more_pixels : 0));
  return paddings;
}

/// Checks whether every element that is read along the axis is one of the tensor.
bool is_plain(const AxisPadding& padding) {
  return !padding.before && !padding.after && padding.dilation == 1;
}

/// Turns a place counted from the first padded element into one counted from the tensor's first.
Exprs shifted(Exprs at, const std::vector<AxisPadding>& paddings) {
  for (size_t i = 0; i < paddings.size(); ++i) at[i + 2] -= paddings[i].begin;
  return at;
}

/// Returns what the padding consists of.
Expr pad_value(const Node& node, Halide::Type type) {
  return Halide::Internal::make_const(type, attributes_of<ConvAttributes>(node).pad_value);
}

/// Returns the element at a place that may be in the padding, where it is `pad`.
Expr padded(const std::function<Expr(const Exprs&)>& from, Exprs at, const std::vector<AxisPadding>& paddings,
            const Node& node) {
  Expr inside = Halide::Internal::make_bool(true);
  for (size_t i = 0; i < paddings.size(); ++i) {
    Expr& place = at[i + 2];
    const AxisPadding& padding = paddings[i];
    if (padding.before) inside = inside && place >= 0;
    if (padding.after) inside = inside && place <= padding.reach;
    if (padding.dilation > 1)
      inside = inside && place % as_int(padding.dilation) == 0, place = place / as_int(padding.dilation);
    if (padding.before || padding.after) place = Halide::clamp(place, 0, padding.last);
  }
  Expr value = from(at);
  return Halide::select(inside, value, pad_value(node, value.type()));
}

/// Returns a function that reads a copy of the input.
std::function<Expr(const Exprs&)> read_stage(const Func& stage, size_t axes) {
  return [=](const Exprs& index) {
    Exprs use{index[1]};
    for (size_t i = axes; i-- > 0;) use.push_back(index[i + 2]);
    use.push_back(index[0]);
    use.insert(use.end(), index.begin() + 2 + static_cast<ptrdiff_t>(axes), index.end());
    return stage(use);
  };
}

}  // namespace

Expr StageAs::add_block(std::vector<Var>& axes) const {
  if (block == 0) return axes[0];
  axes.emplace_back("block");
  return axes.back() * as_int(block) + axes[0];
}

Expr StageAs::channel(const Expr& place) const {
  const Expr c = for_words ? dsp_channel(place) : place;
  return channels ? Halide::min(c, as_int(*channels - 1)) : c;
}

Expr StageAs::element(const Expr& value, const Expr& place) const {
  const Expr c = for_words ? dsp_channel(place) : place;
  const Expr made = in_pairs ? round_pairs_to_bf16(value) : convert(type, value);
  return channels ? Halide::select(c < as_int(*channels), made, Halide::Internal::make_zero(type)) : made;
}

StagedInput guard_conv_input(KernelBuilder& b, const Node& node, const Shape& kernel) {
  const std::vector<AxisPadding> paddings = paddings_of(b, node, kernel);
  return {Func(), {}, [from = b.operand(node.inputs[0]).at, paddings, node](const Exprs& index) {
            Exprs at = index;
            Expr outside = Halide::Internal::make_bool(false);
            for (size_t i = 0; i < paddings.size(); ++i) {
              const AxisPadding& padding = paddings[i];
              Expr& place = at[i + 2];
              place -= padding.begin;
              if (padding.before) outside = outside || place < 0;
              if (padding.after) outside = outside || place > padding.last;
              if (padding.before || padding.after)
                place = Halide::clamp(Halide::likely(place), 0, padding.last);
            }
            Expr value = from(at);
            return Halide::select(outside, pad_value(node, value.type()), Halide::likely(value));
          }};
}

namespace {

/// Returns taps along the last axis, of which some only meet weights that fill up a depth with zeros.
int64_t filled_up_taps(const ConvAttributes& conv, int64_t channels, const std::optional<StageAs>& as) {
  const int64_t depth = conv.unfolded * channels, block = as ? std::max<int64_t>(as->block, 1) : 1;
  return ((depth + block - 1) / block * block + channels - 1) / channels;
}

/// Copies the input with its padding, channels innermost, and from that, for each pixel of the output, the
/// channels of all taps along the last axis, which lie side by side in the copy.
StagedInput unfolded_input(KernelBuilder& b, const Node& node, const Shape& kernel,
                           const std::optional<StageAs>& as) {
  const ConvAttributes conv = attributes_of<ConvAttributes>(node);
  const int64_t channels = b.sizes(node.inputs[0])[1].number();
  Shape taps = kernel;
  taps.back() = filled_up_taps(conv, channels, as);
  const std::vector<AxisPadding> paddings = paddings_of(b, node, taps, as ? as->more_pixels : 0);
  Func pad("pad"), stage("stage");
  const Var n("n"), c("c"), place("place");
  const std::vector<Var> axes = make_vars(kernel.size(), "p");
  const int of_pixel = as_int(channels);
  Exprs at{n, place % of_pixel};
  at.insert(at.end(), axes.begin(), axes.end() - 1);
  at.push_back(place / of_pixel);
  std::vector<Var> pad_vars{place}, vars{c};
  pad_vars.insert(pad_vars.end(), axes.rbegin() + 1, axes.rend());
  pad_vars.push_back(n);
  vars.insert(vars.end(), axes.rbegin(), axes.rend());
  vars.push_back(n);
  pad(pad_vars) = padded(b.operand(node.inputs[0]).at, shifted(at, paddings), paddings, node);
  const Expr channel = as ? as->add_block(vars) : Expr(c);
  const int dilation = as_int(conv.dilations.back());
  Exprs from = to_exprs(pad_vars);
  from[0] = axes.back() * as_int(conv.strides.back() * channels) +
            (dilation == 1 ? channel : channel / of_pixel * (dilation * of_pixel) + channel % of_pixel);
  const Expr element = pad(from);
  stage(vars) = as ? as->element(element, channel) : element;
  return {stage, vars, read_stage(stage, kernel.size()), pad};
}

}  // namespace

StagedInput conv_input(KernelBuilder& b, const Node& node, const Shape& kernel,
                       const std::optional<StageAs>& as) {
  if (attributes_of<ConvAttributes>(node).unfolded > 1) return unfolded_input(b, node, kernel, as);
  const std::vector<AxisPadding> paddings = paddings_of(b, node, kernel, as ? as->more_pixels : 0);
  const std::function<Expr(const Exprs&)> from = b.operand(node.inputs[0]).at;
  const bool is_tensor = has_dense_pixels(b, node.inputs[0]) && std::ranges::all_of(paddings, is_plain);
  if ((is_tensor && !as) || b.mapping() == Mapping::tile_per_item)
    return {Func(), {}, [from, paddings, node](const Exprs& index) {
              return padded(from, shifted(index, paddings), paddings, node);
            }};
  Func stage("stage");
  Var n("n"), c("c");
  std::vector<Var> axes = make_vars(kernel.size(), "p"), vars{c};
  vars.insert(vars.end(), axes.rbegin(), axes.rend());
  vars.push_back(n);
  const Expr channel = as ? as->add_block(vars) : Expr(c);
  Exprs at{n, as ? as->channel(channel) : channel};
  at.insert(at.end(), axes.begin(), axes.end());
  const Expr element = padded(from, shifted(at, paddings), paddings, node);
  stage(vars) = as ? as->element(element, channel) : element;
  return {stage, vars, read_stage(stage, kernel.size())};
}

}  // namespace intarsia::halide
