#include <algorithm>
#include <cmath>

#include "backends/reference/kernels/image.h"
#include "backends/reference/kernels/move.h"

namespace intarsia::reference {
namespace {

struct ResizeAxis {
  int64_t in = 0;
  int64_t out = 0;
  double scale = 1;
  double start = 0;  // region of interest, as parts of the axis
  double end = 1;
  bool resized = false;

  /// Returns what `out` would be if it were not an integer.
  double width() const { return scale * static_cast<double>(in); }
};

struct ResizeRule {
  std::string mode = "nearest";
  std::string coordinates = "half_pixel";
  std::string rounding = "round_prefer_floor";
  double cubic = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  float extrapolation = 0;
};

/// Reads the rule. Upsample and Resize-10 have their own coordinate rule.
Result<ResizeRule> read_rule(const KernelContext& context) {
  const Attributes& attributes = context.attributes();
  ResizeRule rule;
  rule.mode = attributes.get_string("mode", "nearest");
  if (rule.mode == "bilinear") rule.mode = "linear";
  const bool old = context.version() < 11;
  rule.coordinates =
      attributes.get_string("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  rule.rounding = attributes.get_string("nearest_mode", old ? "simple" : "round_prefer_floor");
  rule.cubic = attributes.get_float("cubic_coeff_a", -0.75F);
  rule.exclude_outside = attributes.get_int("exclude_outside", 0) != 0;
  rule.antialias = attributes.get_int("antialias", 0) != 0;
  rule.extrapolation = attributes.get_float("extrapolation_value", 0);
  const auto one_of = [](const std::string& word, std::initializer_list<const char*> words) {
    return std::ranges::find(words, word) != words.end();
  };
  if (!one_of(rule.mode, {"nearest", "linear", "cubic"})) return fail("mode is '{}'", rule.mode);
  if (!one_of(rule.coordinates, {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                 "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"})) {
    return fail("coordinate_transformation_mode is '{}'", rule.coordinates);
  }
  if (!one_of(rule.rounding, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"})) {
    return fail("nearest_mode is '{}'", rule.rounding);
  }
  return rule;
}

/// Returns the scales, an attribute before opset 9, then the second or third input; empty when not given.
Result<std::vector<float>> read_scales(const KernelContext& context) {
  const size_t input = context.version() < 11 ? 1 : 2;
  if (!context.has_input(input)) return context.attributes().get_floats("scales");
  const ConstTensorView& view = context.input(input);
  if (!is_float(view.dtype)) return unsupported(view.dtype);
  const ReadAs<float> scales(view);
  return std::vector<float>(scales.begin(), scales.end());
}

constexpr double most = 281474976710656.0;  // 2^48, see checked_elements

Status scale_axis(ResizeAxis& axis, float scale) {
  if (!(scale > 0) || !(scale * static_cast<float>(axis.in) < static_cast<float>(most))) {
    return fail("scale {} for the size {}", scale, axis.in);
  }
  axis.scale = scale;
  axis.out = static_cast<int64_t>(std::floor(static_cast<float>(axis.in) * scale));
  return {};
}

/// Scales all listed axes alike, so that no size exceeds (or no size is below) the requested one.
Status keep_aspect_ratio(std::vector<ResizeAxis>& plan, const std::vector<int64_t>& axes, bool smaller) {
  if (axes.empty()) return {};
  double scale = plan[static_cast<size_t>(axes[0])].scale;
  for (int64_t axis : axes) {
    const double own = plan[static_cast<size_t>(axis)].scale;
    scale = smaller ? std::min(scale, own) : std::max(scale, own);
  }
  for (int64_t axis : axes) {
    ResizeAxis& resized = plan[static_cast<size_t>(axis)];
    resized.scale = scale;
    if (!(resized.width() < most)) return fail("scale {} for the size {}", scale, resized.in);
    resized.out = static_cast<int64_t>(std::floor(resized.width() + 0.5));
  }
  return {};
}

Status apply_sizes(const KernelContext& context, std::vector<ResizeAxis>& plan,
                   const std::vector<int64_t>& axes) {
  const std::vector<int64_t> sizes = TRY(context.input_ints(3));
  if (sizes.size() != axes.size()) return fail("{} sizes for {} axes", sizes.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan[static_cast<size_t>(axes[i])];
    if (sizes[i] < 0 || (axis.in == 0 && sizes[i] > 0)) return fail("size {} from {}", sizes[i], axis.in);
    axis.out = sizes[i];
    if (axis.in > 0) axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
  }
  const std::string policy = context.attributes().get_string("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return {};
  if (policy == "not_larger" || policy == "not_smaller") {
    return keep_aspect_ratio(plan, axes, policy == "not_larger");
  }
  return fail("keep_aspect_ratio_policy is '{}'", policy);
}

Status apply_region(const KernelContext& context, std::vector<ResizeAxis>& plan,
                    const std::vector<int64_t>& axes) {
  if (!context.has_input(1) || !is_float(context.input(1).dtype))
    return fail("the region of interest is missing");
  const ReadAs<double> roi(context.input(1));
  if (roi.size() != static_cast<int64_t>(2 * axes.size())) {
    return fail("{} numbers in the region of interest for {} axes", roi.size(), axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan[static_cast<size_t>(axes[i])];
    axis.start = roi[static_cast<int64_t>(i)];
    axis.end = roi[static_cast<int64_t>(axes.size() + i)];
  }
  return {};
}

Result<std::vector<ResizeAxis>> plan_axes(const KernelContext& context, const ResizeRule& rule) {
  const Shape& shape = context.input(0).shape;
  std::vector<ResizeAxis> plan;
  for (int64_t size : shape) plan.push_back({size, size});
  std::vector<int64_t> axes = identity_map(static_cast<int64_t>(shape.size()));
  if (context.attributes().has("axes")) {
    axes = TRY(resolve_axes(context.attributes().get_ints("axes"), shape.size()));
  }
  const std::vector<float> scales = TRY(read_scales(context));
  if (!scales.empty()) {
    if (scales.size() != axes.size()) return fail("{} scales for {} axes", scales.size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i) TRY(scale_axis(plan[static_cast<size_t>(axes[i])], scales[i]));
  } else if (context.version() >= 11 && context.has_input(3)) {
    TRY(apply_sizes(context, plan, axes));
  } else if (!axes.empty()) {
    return fail("neither scales nor sizes are given");
  }
  if (rule.coordinates == "tf_crop_and_resize") TRY(apply_region(context, plan, axes));
  for (ResizeAxis& axis : plan) {
    axis.resized = axis.scale != 1 || axis.in != axis.out || axis.start != 0 || axis.end != 1;
  }
  return plan;
}

/// Returns where output index `index` lies in the input; NaN for the extrapolation value. The length of the
/// result is its number of elements, as in ONNX Runtime; code of the onnx package takes what the scale gives
/// before it is rounded down.
double source_coordinate(const ResizeRule& rule, const ResizeAxis& axis, int64_t index) {
  const auto x = static_cast<double>(index);
  const double last = static_cast<double>(axis.in) - 1;
  const auto length = static_cast<double>(axis.out);
  if (rule.coordinates == "align_corners") return axis.out == 1 ? 0 : x * last / (length - 1);
  if (rule.coordinates == "asymmetric") return x / axis.scale;
  if (rule.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (rule.coordinates == "pytorch_half_pixel" && axis.out <= 1) return 0;
  if (rule.coordinates == "tf_crop_and_resize") {
    const double at = axis.out > 1 ? axis.start * last + x * (axis.end - axis.start) * last / (length - 1)
                                   : 0.5 * (axis.start + axis.end) * last;
    return at >= 0 && at <= last ? at : std::nan("");
  }
  double offset = 0;
  if (rule.coordinates == "half_pixel_symmetric") {
    offset = static_cast<double>(axis.in) / 2 * (1 - length / axis.width());
  }
  return offset + (x + 0.5) / axis.scale - 0.5;
}

int64_t clamp_index(double at, int64_t size) {
  return static_cast<int64_t>(std::clamp(at, 0.0, static_cast<double>(size - 1)));
}

std::vector<int64_t> nearest_map(const ResizeRule& rule, const ResizeAxis& axis) {
  std::vector<int64_t> map = identity_map(axis.out);
  if (!axis.resized) return map;
  for (int64_t& entry : map) {
    const double at = source_coordinate(rule, axis, entry);
    double nearest = std::floor(at);
    // Rounding is unspecified before opset 11; "simple" is what ONNX Runtime does.
    const bool up = rule.rounding == "ceil" || (rule.rounding == "simple" && axis.scale < 1);
    if (up) nearest = std::ceil(at);
    if (rule.rounding == "round_prefer_floor") nearest = std::ceil(at - 0.5);
    if (rule.rounding == "round_prefer_ceil") nearest = std::floor(at + 0.5);
    entry = std::isnan(at) ? -1 : clamp_index(nearest, axis.in);
  }
  return map;
}

/// Computes the triangle, or the cubic of Keys, "Cubic convolution interpolation for digital image
/// processing", 1981.
double filter(const ResizeRule& rule, double x) {
  x = std::abs(x);
  if (rule.mode == "linear") return std::max(0.0, 1 - x);
  const double a = rule.cubic;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

struct Weight {
  int64_t index;
  double weight;
};

/// Returns the input elements around `at` and their parts, which add up to 1. Antialiasing stretches the
/// filter by the factor by which the axis shrinks.
std::vector<Weight> filter_weights(const ResizeRule& rule, const ResizeAxis& axis, double at) {
  const double stretch = rule.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double support = rule.mode == "linear" ? 1 : 2;
  const double base = std::ceil(at) - 1;
  const auto first = static_cast<int64_t>(std::floor(-support / stretch)) + 1;
  std::vector<Weight> weights;
  double sum = 0;
  for (int64_t i = first; i < 2 - first; ++i) {
    const double place = base + static_cast<double>(i);
    const bool outside = place < 0 || place >= static_cast<double>(axis.in);
    const double weight = rule.exclude_outside && outside ? 0 : filter(rule, (place - at) * stretch);
    weights.push_back({clamp_index(place, axis.in), weight});
    sum += weight;
  }
  for (Weight& weight : weights) weight.weight /= sum == 0 ? 1 : sum;
  return weights;
}

std::vector<double> resize_axis(const ResizeRule& rule, const ResizeAxis& axis, const AxisSplit& split,
                                const std::vector<double>& from) {
  std::vector<double> to(static_cast<size_t>(split.outer * axis.out * split.inner), 0);
  for (int64_t k = 0; k < axis.out; ++k) {
    const double at = source_coordinate(rule, axis, k);
    const std::vector<Weight> weights =
        std::isnan(at) ? std::vector<Weight>() : filter_weights(rule, axis, at);
    for (int64_t o = 0; o < split.outer; ++o) {
      double* line = to.data() + (o * axis.out + k) * split.inner;
      if (std::isnan(at)) std::fill_n(line, split.inner, static_cast<double>(rule.extrapolation));
      for (const Weight& weight : weights) {
        const double* source = from.data() + (o * axis.in + weight.index) * split.inner;
        for (int64_t i = 0; i < split.inner; ++i) line[i] += weight.weight * source[i];
      }
    }
  }
  return to;
}

/// Interpolates one axis after the other, which gives N-linear and N-cubic interpolation.
Status interpolate(const ResizeRule& rule, const std::vector<ResizeAxis>& plan, const ConstTensorView& x,
                   const TensorView& y) {
  if (!is_number(x.dtype)) return unsupported(x.dtype);
  const ReadAs<double> in(x);
  std::vector<double> values(in.begin(), in.end());
  Shape shape = x.shape;
  for (size_t i = 0; i < plan.size(); ++i) {
    if (!plan[i].resized) continue;
    Shape next = shape;
    next[i] = plan[i].out;
    TRY(checked_elements(next));
    values = resize_axis(rule, plan[i], split_at_axis(shape, static_cast<int64_t>(i)), values);
    shape = next;
  }
  if (!is_float(y.dtype)) {
    for (double& value : values) value = std::nearbyint(value);
  }
  write_numbers(values.data(), y);
  return {};
}

}  // namespace

Status resize(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const ResizeRule rule = TRY(read_rule(context));
  const std::vector<ResizeAxis> plan = TRY(plan_axes(context, rule));
  Shape shape;
  for (const ResizeAxis& axis : plan) shape.push_back(axis.out);
  const int64_t count = TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  if (count == 0) return {};
  if (element_count(x.shape) == 0) return fail("an empty input of shape {}", print_shape(x.shape));
  if (rule.mode != "nearest") return interpolate(rule, plan, x, y);
  AxisMaps maps;
  for (const ResizeAxis& axis : plan) maps.push_back(nearest_map(rule, axis));
  const Tensor fill(x.dtype, {});
  if (rule.extrapolation != 0 && is_number(x.dtype)) write_numbers(&rule.extrapolation, fill.view());
  return copy_mapped(x, maps, &fill, y);
}

}  // namespace intarsia::reference
