#include <algorithm>
#include <numeric>

#include "translate/layout.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Moves the axes of weights [spatial..., in, out] -> [out, in, spatial...].
ValueId weights_to_ours(Translation& t, size_t input, int64_t spatial) {
  std::vector<int64_t> permutation{spatial + 1, spatial};
  for (int64_t axis = 0; axis < spatial; ++axis) permutation.push_back(axis);
  return t.transpose(t.input(input), permutation);
}

Status convolution(Translation& t, int64_t spatial) {
  const Layout layout = TRY(read_layout(t, spatial));
  const SymbolicShape image = TRY(t.sizes(0));
  const Shape weights = TRY(t.shape(1));
  if (static_cast<int64_t>(image.size()) != spatial + 2 || image.size() != weights.size())
    return fail("of rank {} and {}", image.size(), weights.size());
  Window window = TRY(read_window(t, layout, {weights.begin(), weights.begin() + spatial}));
  TRY(set_padding(t, layout, image, window));
  const Dim& all = image[static_cast<size_t>(layout.channel_axis())];
  if (!all.is_number()) return fail("of {} channels", all.print());
  const int64_t channels = all.number(), depth = weights[static_cast<size_t>(spatial)];
  if (depth == 0 || channels % depth != 0) return fail("{} channels in groups of {}", channels, depth);
  const ValueId y = t.make("Conv", {to_channels_first(t, t.input(0), layout), weights_to_ours(t, 1, spatial)},
                           {{"strides", window.strides},
                            {"dilations", window.dilations},
                            window.padding(),
                            {"group", channels / depth}});
  t.give(0, from_channels_first(t, y, layout));
  return {};
}

Status conv2d(Translation& t) { return convolution(t, 2); }
Status conv3d(Translation& t) { return convolution(t, 3); }

/// Translates a depthwise convolution with weights [h, w, channels, multiplier]: each channel has its own
/// filters.
Status depthwise(Translation& t) {
  const Layout layout = TRY(read_layout(t, 2));
  const SymbolicShape image = TRY(t.sizes(0));
  const Shape weights = TRY(t.shape(1));
  if (image.size() != 4 || weights.size() != 4)
    return fail("of rank {} and {}", image.size(), weights.size());
  Window window = TRY(read_window(t, layout, {weights[0], weights[1]}));
  TRY(set_padding(t, layout, image, window));
  const ValueId moved = t.transpose(t.input(1), {2, 3, 0, 1});
  const ValueId filters = t.reshape(moved, {weights[2] * weights[3], 1, weights[0], weights[1]});
  const ValueId y = t.make("Conv", {to_channels_first(t, t.input(0), layout), filters},
                           {{"strides", window.strides},
                            {"dilations", window.dilations},
                            window.padding(),
                            {"group", weights[2]}});
  t.give(0, from_channels_first(t, y, layout));
  return {};
}

/// Translates the gradient of a convolution with respect to its input: a transposed convolution. Inputs:
/// output sizes, weights, image.
Status transposed_convolution(Translation& t, int64_t spatial) {
  const Layout layout = TRY(read_layout(t, spatial));
  const SymbolicShape output = TRY(t.elements(0)), image = TRY(t.sizes(2));
  const Shape weights = TRY(t.shape(1));
  if (static_cast<int64_t>(output.size()) != spatial + 2 || output.size() != weights.size() ||
      output.size() != image.size())
    return fail("of rank {} and {} to {}", image.size(), weights.size(), output.size());
  Window window = TRY(read_window(t, layout, {weights.begin(), weights.begin() + spatial}));
  TRY(set_padding(t, layout, output, window));
  if (window.is_same) return fail("to an open size");
  std::vector<int64_t> extra;
  for (int64_t axis = 0; axis < spatial; ++axis) {
    const size_t a = static_cast<size_t>(axis), at = static_cast<size_t>(layout.spatial_axis(axis));
    const int64_t reach = (window.kernel[a] - 1) * window.dilations[a] + 1;
    const Dim grown = (image[at] - 1) * window.strides[a] + reach - window.pads[a] -
                      window.pads[a + static_cast<size_t>(spatial)];
    const Dim more = output[at] - grown;
    if (!more.is_number()) return fail("to sizes {}", print_shape(output));
    extra.push_back(more.number());
    if (extra.back() < 0 || extra.back() >= std::max(window.strides[a], window.dilations[a]))
      return fail("its output sizes do not fit its strides");
  }
  // Weights are [spatial..., out, in] here: the permutation gives [in, out, spatial...], the layout of
  // ConvTranspose.
  const ValueId y =
      t.make("ConvTranspose", {to_channels_first(t, t.input(2), layout), weights_to_ours(t, 1, spatial)},
             {{"strides", window.strides},
              {"dilations", window.dilations},
              {"pads", window.pads},
              {"output_padding", extra}});
  t.give(0, from_channels_first(t, y, layout));
  return {};
}

Status conv2d_transpose(Translation& t) { return transposed_convolution(t, 2); }
Status conv3d_transpose(Translation& t) { return transposed_convolution(t, 3); }

/// Returns the operand, with its last two axes swapped if `swapped`.
Result<ValueId> operand(Translation& t, size_t input, bool swapped) {
  if (!swapped) return t.input(input);
  const int64_t rank = TRY(t.rank(input));
  std::vector<int64_t> permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  if (rank < 2) return fail("a product of rank {}", rank);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return t.transpose(t.input(input), permutation);
}

Status product(Translation& t, const char* a_swapped, const char* b_swapped) {
  if (is_complex(t.dtype(0))) return fail("of {}", dtype_name(t.dtype(0)));
  const ValueId a = TRY(operand(t, 0, tensorflow::get_bool(t.attributes(), a_swapped, false)));
  const ValueId b = TRY(operand(t, 1, tensorflow::get_bool(t.attributes(), b_swapped, false)));
  t.give(0, t.make("MatMul", {a, b}));
  return {};
}

Status matmul(Translation& t) { return product(t, "transpose_a", "transpose_b"); }
Status batch_matmul(Translation& t) {
  if (tensorflow::get_bool(t.attributes(), "grad_x", false) ||
      tensorflow::get_bool(t.attributes(), "grad_y", false))
    return fail("with grad_x or grad_y");
  return product(t, "adj_x", "adj_y");
}

Status einsum(Translation& t) {
  t.give(0, t.make("Einsum", t.inputs(), {{"equation", t.attributes().get_string("equation", "")}}));
  return {};
}

constexpr TranslationRow contraction_rows[] = {
    {"Conv2D", conv2d},
    {"Conv3D", conv3d},
    {"DepthwiseConv2dNative", depthwise},
    {"Conv2DBackpropInput", conv2d_transpose},
    {"Conv3DBackpropInputV2", conv3d_transpose},
    {"MatMul", matmul},
    {"BatchMatMul", batch_matmul},
    {"BatchMatMulV2", batch_matmul},
    {"BatchMatMulV3", batch_matmul},
    {"Einsum", einsum},
};

}  // namespace

std::span<const TranslationRow> contraction_translations() { return contraction_rows; }

}  // namespace intarsia
