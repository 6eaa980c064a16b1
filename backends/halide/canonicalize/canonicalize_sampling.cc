// Operators that read between elements, at places which another input names.
#include <algorithm>
#include <array>
#include <numeric>

#include "backends/halide/canonicalize/canonicalize_rules.h"

namespace intarsia::halide {
namespace {

/// Returns ONNX's present name of a mode of GridSample, which opset 16 called otherwise.
Result<std::string> sampling_mode(const std::string& mode) {
  if (mode == "nearest") return mode;
  if (mode == "linear" || mode == "bilinear") return "linear";
  if (mode == "cubic" || mode == "bicubic") return "cubic";
  return fail("GridSample: mode is '{}', want nearest, linear or cubic", mode);
}

Status grid_sample(Rewriter& r) {
  const ValueId x = r.in(0), grid = r.in(1);
  const SymbolicShape &in = r.sizes(x), &points = r.sizes(grid);
  const GridSampleAttributes attributes{TRY(sampling_mode(r.attributes().get_string("mode", "linear"))),
                                        r.attributes().get_string("padding_mode", "zeros"),
                                        r.attributes().get_int("align_corners", 0) != 0};
  const std::string& padding = attributes.padding_mode;
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return fail("GridSample: padding_mode is '{}', want zeros, border or reflection", padding);
  if (!is_float(r.dtype(x)) || !is_float(r.dtype(grid)))
    return fail("GridSample of {} at {}", dtype_name(r.dtype(x)), dtype_name(r.dtype(grid)));
  if (in.size() < 3 || in.size() > 5 || points.size() != in.size() || !provably_equal(in[0], points[0]) ||
      points.back() != std::ssize(in) - 2)
    return fail("GridSample: a grid of shape {} for the input {}", print_shape(points), print_shape(in));
  r.set_output(0, r.emit(CoreOp::grid_sample, {x, grid}, r.dtype(x), r.out_sizes(), attributes));
  return {};
}

/// Fails unless a value has these sizes.
Status require_sizes(const Rewriter& r, ValueId value, const SymbolicShape& wanted, size_t input) {
  const auto are_equal = [](const Dim& a, const Dim& b) { return provably_equal(a, b); };
  if (std::ranges::equal(r.sizes(value), wanted, are_equal)) return {};
  return fail("{}: input {} has shape {}, want {}", r.node().op, input, print_shape(r.sizes(value)),
              print_shape(wanted));
}

/// Returns the weights [M, C/group, taps...] of a DeformConv as those of one tap, whose channels are those of
/// all taps.
ValueId weights_of_taps(Rewriter& r) {
  const Shape from = r.shape(r.in(1));
  return r.reshape(r.transpose_constant(r.in(1), {0, 2, 3, 1}),
                   to_symbolic({from[0], from[1] * from[2] * from[3], 1, 1}));
}

/// Multiplies what the taps read by the weights (Dai and others, "Deformable Convolutional Networks", 2017):
/// a convolution by one tap of what all taps read, as channels.
Status deform_conv(Rewriter& r) {
  TRY(require_floats(r));
  const SymbolicShape in = r.sizes(r.in(0)), out = r.out_sizes();
  const Shape weights = r.shape(r.in(1));
  const int64_t group = r.attributes().get_int("group", 1),
                offset_group = r.attributes().get_int("offset_group", 1);
  if (in.size() != 4 || weights.size() != 4 || !in[1].is_number() || group < 1 || offset_group < 1 ||
      in[1].number() % offset_group != 0 || in[1] != weights[1] * group || weights[0] % group != 0)
    return fail("DeformConv of {} by {} in {} and {} groups", print_shape(in), print_shape(weights), group,
                offset_group);
  const WindowGeometry window = TRY(window_geometry(r, {weights[2], weights[3]}, in, out));
  const int64_t taps = weights[2] * weights[3], channels = in[1].number();
  TRY(require_sizes(r, r.in(2), {in[0], offset_group * taps * 2, out[2], out[3]}, 2));
  std::vector<ValueId> inputs{r.in(0), r.reshape(r.in(2), {in[0], offset_group, taps, 2, out[2], out[3]})};
  if (r.has_input(4)) {
    TRY(require_sizes(r, r.in(4), {in[0], offset_group * taps, out[2], out[3]}, 4));
    inputs.push_back(r.reshape(r.in(4), {in[0], offset_group, taps, out[2], out[3]}));
  }
  const int64_t parts = std::lcm(group, offset_group), of_part = channels / parts, depth = weights[1] * taps;
  ValueId columns = r.emit(CoreOp::deform_sample, inputs, r.dtype(inputs[0]),
                           SymbolicShape{in[0], out[2], out[3], group, taps, parts / group, of_part},
                           DeformAttributes{window.kernel, window.strides, window.dilations, window.pads});
  columns = r.transpose(r.reshape(columns, {in[0], out[2], out[3], group * depth}), {0, 3, 1, 2});
  ValueId y = r.emit(CoreOp::conv, {columns, weights_of_taps(r)}, r.dtype(columns), out,
                     ConvAttributes{group, {1, 1}, {1, 1}, SymbolicShape(4, 0), {1, 1}});
  if (r.has_input(3)) {
    TRY(require_sizes(r, r.in(3), {weights[0]}, 3));
    y = r.emit_elementwise(CoreOp::add, {y, r.channel_vector(r.in(3), 4)});
  }
  r.set_output(0, y);
  return {};
}

Status roi_align(Rewriter& r) {
  const std::string shift = r.attributes().get_string("coordinate_transformation_mode",
                                                      r.version() < 16 ? "output_half_pixel" : "half_pixel"),
                    mode = r.attributes().get_string("mode", "avg");
  const RoiAttributes attributes{r.attributes().get_int("sampling_ratio", 0),
                                 r.attributes().get_float("spatial_scale", 1), shift == "half_pixel",
                                 mode == "max"};
  if ((shift != "half_pixel" && shift != "output_half_pixel") || (mode != "avg" && mode != "max") ||
      attributes.sampling < 0 || attributes.sampling > 1024)
    return fail("RoiAlign in mode '{}' with '{}' and {} samples", mode, shift, attributes.sampling);
  const Dim regions = r.sizes(r.in(2)).size() == 1 ? r.sizes(r.in(2))[0] : Dim::unknown();
  if (r.dtype(r.in(0)) != DType::f32 || r.dtype(r.in(1)) != DType::f32 || r.dtype(r.in(2)) != DType::i64)
    return fail("RoiAlign of {} in regions of {}", dtype_name(r.dtype(r.in(0))),
                dtype_name(r.dtype(r.in(1))));
  TRY(require_sizes(r, r.in(1), {regions, 4}, 1));
  r.set_output(0,
               r.emit(CoreOp::roi_align, {r.in(0), r.in(1), r.in(2)}, DType::f32, r.out_sizes(), attributes));
  return {};
}

Status max_roi_pool(Rewriter& r) {
  if (r.dtype(r.in(0)) != DType::f32 || r.dtype(r.in(1)) != DType::f32 || r.sizes(r.in(1)).back() != 5)
    return fail("MaxRoiPool of {} in regions of {}", dtype_name(r.dtype(r.in(0))),
                dtype_name(r.dtype(r.in(1))));
  const RoiAttributes attributes{.scale = r.attributes().get_float("spatial_scale", 1)};
  r.set_output(0, r.emit(CoreOp::max_roi_pool, {r.in(0), r.in(1)}, DType::f32, r.out_sizes(), attributes));
  return {};
}

constexpr std::array sampling_rule_list = std::to_array<RuleEntry>({
    {"DeformConv", deform_conv},
    {"GridSample", grid_sample},
    {"MaxRoiPool", max_roi_pool},
    {"RoiAlign", roi_align},
});

}  // namespace

std::span<const RuleEntry> sampling_rules() { return sampling_rule_list; }

}  // namespace intarsia::halide
