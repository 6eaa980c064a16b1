// Resize and Upsample: along each axis an output element is a weighted sum of a few input elements, whose
// places and weights are tables computed here.
#include <array>
#include <cmath>

#include "backends/halide/canonicalize/canonicalize_rules.h"

namespace intarsia::halide {
namespace {

struct Axis {
  int64_t in, out;
  double scale;
};

double source_position(const std::string& transform, const Axis& axis, int64_t o) {
  double x = static_cast<double>(o);
  if (transform == "asymmetric") return x / axis.scale;
  if (transform == "align_corners")
    return axis.out == 1 ? 0 : x * static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1);
  if (transform == "pytorch_half_pixel" && axis.out == 1) return 0;
  if (transform == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (transform == "half_pixel_symmetric") {
    double wanted = axis.scale * static_cast<double>(axis.in), center = static_cast<double>(axis.in) / 2;
    return center * (1 - static_cast<double>(axis.out) / wanted) + (x + 0.5) / axis.scale - 0.5;
  }
  return (x + 0.5) / axis.scale - 0.5;
}

int64_t nearest_place(const std::string& mode, double position) {
  double place = std::floor(position);
  if (mode == "ceil")
    place = std::ceil(position);
  else if (mode == "round_prefer_floor")
    place = std::ceil(position - 0.5);
  else if (mode == "round_prefer_ceil")
    place = std::floor(position + 0.5);
  return static_cast<int64_t>(place);
}

ValueId resize_nearest(Rewriter& r, ValueId x, size_t at, const Axis& axis, const std::string& transform,
                       const std::string& mode) {
  Tensor places(DType::i32, {axis.out});
  for (int64_t o = 0; o < axis.out; ++o)
    places.as<int32_t>()[static_cast<size_t>(o)] = static_cast<int32_t>(
        std::clamp<int64_t>(nearest_place(mode, source_position(transform, axis, o)), 0, axis.in - 1));
  Shape shape = r.shape(x);
  shape[at] = axis.out;
  return r.emit(CoreOp::gather, {x, r.add_constant(places)}, r.dtype(x), shape,
                AxisAttributes{static_cast<int64_t>(at)});
}

/// Returns the weights of Keys' cubic kernel with parameter `a` for the four places around a position.
std::array<double, 4> cubic_weights(double t, double a) {
  auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

ValueId resize_weighted(Rewriter& r, ValueId x, size_t at, const Axis& axis, const std::string& transform,
                        bool cubic) {
  int64_t taps = cubic ? 4 : 2;
  double a = r.attributes().get_float("cubic_coeff_a", -0.75f);
  Tensor places(DType::i32, {taps, axis.out}), weights(DType::f32, {taps, axis.out});
  bool exclude = r.attributes().get_int("exclude_outside", 0) != 0;
  for (int64_t o = 0; o < axis.out; ++o) {
    double position = source_position(transform, axis, o), base = std::floor(position), t = position - base,
           sum = 0;
    std::array<double, 4> w = cubic ? cubic_weights(t, a) : std::array<double, 4>{1 - t, t, 0, 0};
    for (int64_t k = 0; k < taps; ++k) {
      int64_t place = static_cast<int64_t>(base) + k - (cubic ? 1 : 0);
      if (exclude && (place < 0 || place >= axis.in)) w[static_cast<size_t>(k)] = 0;
      sum += w[static_cast<size_t>(k)];
      places.as<int32_t>()[static_cast<size_t>(k * axis.out + o)] =
          static_cast<int32_t>(std::clamp<int64_t>(place, 0, axis.in - 1));
    }
    for (int64_t k = 0; k < taps; ++k)
      weights.as<float>()[static_cast<size_t>(k * axis.out + o)] =
          static_cast<float>(w[static_cast<size_t>(k)] / (exclude ? sum : 1));
  }
  Shape shape = r.shape(x);
  shape[at] = axis.out;
  return r.emit(CoreOp::interpolate, {x, r.add_constant(places), r.add_constant(weights)}, r.dtype(x), shape,
                AxisAttributes{static_cast<int64_t>(at)});
}

/// Returns the scale of each axis, given or derived from the sizes.
Result<std::vector<double>> scales_of(Rewriter& r, const Shape& in, const Shape& out) {
  std::vector<double> scales(in.size(), 1);
  for (size_t i = 0; i < in.size(); ++i) scales[i] = static_cast<double>(out[i]) / static_cast<double>(in[i]);
  size_t slot = r.node().op == "Resize" && r.version() >= 11 ? 2 : 1;
  std::vector<int64_t> axes = r.attributes().get_ints("axes");
  std::vector<float> given = r.attributes().get_floats("scales");
  if (r.has_input(slot)) {
    const Tensor* tensor = r.constant(r.in(slot));
    if (!tensor) return fail("{} with scales not known at compile time", r.node().op);
    if (tensor->dtype() == DType::f32) given.assign(tensor->as<float>().begin(), tensor->as<float>().end());
  }
  for (size_t i = 0; i < given.size(); ++i) {
    auto axis =
        static_cast<size_t>(axes.empty() ? static_cast<int64_t>(i) : TRY(r.axis(axes[i], r.rank(r.in(0)))));
    if (axis >= in.size() || !(given[i] > 0)) return fail("{} with {} scales", r.node().op, given.size());
    scales[axis] = given[i];
  }
  return scales;
}

Status resize(Rewriter& r) {
  std::string mode = r.attributes().get_string("mode", "nearest");
  bool old = r.node().op == "Upsample" || r.version() < 11;
  std::string transform =
      r.attributes().get_string("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  std::string nearest = r.attributes().get_string("nearest_mode", old ? "floor" : "round_prefer_floor");
  if (mode == "bilinear") mode = "linear";
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return fail("Resize mode {} is not supported", mode);
  if (transform == "tf_crop_and_resize") return fail("Resize with tf_crop_and_resize is not supported");
  if (r.attributes().get_int("antialias", 0)) return fail("Resize with antialias is not supported");
  if (r.attributes().get_string("keep_aspect_ratio_policy", "stretch") != "stretch")
    return fail("Resize that keeps the aspect ratio is not supported");
  if (mode != "nearest" && r.dtype(r.in(0)) != DType::f32)
    return fail("Resize mode {} on {} is not supported", mode, dtype_name(r.dtype(r.in(0))));
  Shape in = r.shape(r.in(0)), out = r.out_shape();
  std::vector<double> scales = TRY(scales_of(r, in, out));
  ValueId x = r.in(0);
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == out[i] && scales[i] == 1) continue;
    Axis axis{in[i], out[i], scales[i]};
    x = mode == "nearest" ? resize_nearest(r, x, i, axis, transform, nearest)
                          : resize_weighted(r, x, i, axis, transform, mode == "cubic");
  }
  r.set_output(0, x);
  return {};
}

constexpr std::array resize_rule_list = std::to_array<RuleEntry>({{"Resize", resize}, {"Upsample", resize}});

}  // namespace

std::span<const RuleEntry> resize_rules() { return resize_rule_list; }

}  // namespace intarsia::halide
