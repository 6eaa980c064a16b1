// Resize and Upsample: along each axis an output element is a weighted sum of a few input elements, whose
// places and weights are tables: constants, or where sizes are open values that kernels compute.
#include <array>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/core/resize_taps.h"

namespace intarsia::halide {
namespace {

/// Resize of one axis. Sizes and scale are the attributes of the tables.
struct AxisResize {
  int64_t axis = 0;
  bool is_cubic = false;
  ResizeAttributes table;

  int64_t taps() const { return is_cubic ? 4 : 2; }
  bool is_open() const { return !table.in.is_number() || !table.out.is_number(); }
  ResizedAxis<NumberMath> numbers() const {
    const auto in = static_cast<double>(table.in.number()), out = static_cast<double>(table.out.number());
    return {in, out, table.scale ? static_cast<double>(*table.scale) : out / in};
  }
  int32_t clamped(double place) const {
    return static_cast<int32_t>(std::clamp<int64_t>(static_cast<int64_t>(place), 0, table.in.number() - 1));
  }
};

ValueId nearest_places(Rewriter& r, const AxisResize& resize) {
  if (resize.is_open())
    return r.emit(CoreOp::resize_places, {}, DType::i32, SymbolicShape{resize.table.out}, resize.table);
  const int64_t out = resize.table.out.number();
  Tensor places(DType::i32, {out});
  for (int64_t o = 0; o < out; ++o) {
    const double position =
        source_position<NumberMath>(resize.table.transform, resize.numbers(), static_cast<double>(o));
    places.as<int32_t>()[static_cast<size_t>(o)] =
        resize.clamped(nearest_place<NumberMath>(resize.table.rounding, position));
  }
  return r.add_constant(places);
}

/// Returns the tables of places and weights [taps, out].
std::pair<ValueId, ValueId> weighted_places(Rewriter& r, const AxisResize& resize) {
  const auto& [in, size, scale, transform, rounding, cubic_a, exclude_outside] = resize.table;
  const int64_t taps = resize.taps();
  if (resize.is_open()) {
    const SymbolicShape shape{taps, size};
    return {r.emit(CoreOp::resize_places, {}, DType::i32, shape, resize.table),
            r.emit(CoreOp::resize_weights, {}, DType::f32, shape, resize.table)};
  }
  const int64_t out = size.number();
  Tensor places(DType::i32, {taps, out}), weights(DType::f32, {taps, out});
  for (int64_t o = 0; o < out; ++o) {
    const double position = source_position<NumberMath>(transform, resize.numbers(), static_cast<double>(o));
    const ResizeTaps<NumberMath> of =
        resize_taps<NumberMath>(resize.numbers(), position, resize.is_cubic, cubic_a, exclude_outside);
    for (int64_t k = 0; k < taps; ++k) {
      const auto at = static_cast<size_t>(k * out + o);
      places.as<int32_t>()[at] = resize.clamped(of.places[static_cast<size_t>(k)]);
      weights.as<float>()[at] = static_cast<float>(of.weights[static_cast<size_t>(k)]);
    }
  }
  return {r.add_constant(places), r.add_constant(weights)};
}

ValueId resize_axis(Rewriter& r, ValueId x, const AxisResize& resize) {
  SymbolicShape sizes = r.sizes(x);
  sizes[static_cast<size_t>(resize.axis)] = resize.table.out;
  const AxisAttributes along{resize.axis};
  if (!resize.table.rounding.empty())
    return r.emit(CoreOp::gather, {x, nearest_places(r, resize)}, r.dtype(x), sizes, along);
  const auto [places, weights] = weighted_places(r, resize);
  return r.emit(CoreOp::interpolate, {x, places, weights}, r.dtype(x), sizes, along);
}

/// Returns the given scale of each axis; nullopt if it follows from the sizes.
Result<std::vector<std::optional<float>>> given_scales(Rewriter& r) {
  const auto rank = static_cast<size_t>(r.rank(r.in(0)));
  std::vector<std::optional<float>> scales(rank);
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
    if (axis >= rank || !(given[i] > 0)) return fail("{} with {} scales", r.node().op, given.size());
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
  const SymbolicShape in = r.sizes(r.in(0)), out = r.out_sizes();
  const std::vector<std::optional<float>> scales = TRY(given_scales(r));
  ValueId x = r.in(0);
  for (size_t i = 0; i < in.size(); ++i) {
    if (provably_equal(in[i], out[i]) && scales[i].value_or(1) == 1) continue;
    TRY(r.require(smaller_of(in[i], 1) - smaller_of(out[i], 1), fmt::format("axis {} is empty", i)));
    x = resize_axis(r, x,
                    {.axis = static_cast<int64_t>(i),
                     .is_cubic = mode == "cubic",
                     .table = {.in = in[i],
                               .out = out[i],
                               .scale = scales[i],
                               .transform = transform,
                               .rounding = mode == "nearest" ? nearest : "",
                               .cubic_a = r.attributes().get_float("cubic_coeff_a", -0.75f),
                               .exclude_outside = r.attributes().get_int("exclude_outside", 0) != 0}});
  }
  r.set_output(0, x);
  return {};
}

constexpr std::array resize_rule_list = std::to_array<RuleEntry>({{"Resize", resize}, {"Upsample", resize}});

}  // namespace

std::span<const RuleEntry> resize_rules() { return resize_rule_list; }

}  // namespace intarsia::halide
