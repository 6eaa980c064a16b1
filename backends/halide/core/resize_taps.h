// Where an element of a Resize reads along one axis, and with which weights: with numbers when the sizes are
// known, as expressions of generated code when they are open. `Math` says which: its Number has the usual
// operators; floor(x) and choose(condition, a, b) are its functions.
// Source: the ONNX operator Resize.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace intarsia::halide {

/// Arithmetic of sizes that are known.
struct NumberMath {
  using Number = double;
  static double floor(double x) { return std::floor(x); }
  static double choose(bool condition, double a, double b) { return condition ? a : b; }
};

/// Sizes of an axis before and after, and their ratio, or what is given in its place.
template <typename Math>
struct ResizedAxis {
  typename Math::Number in, out, scale;
};

/// Returns the position in the input of element `x` of the output, by ONNX's coordinate_transformation_mode.
template <typename Math>
typename Math::Number source_position(const std::string& transform, const ResizedAxis<Math>& axis,
                                      const typename Math::Number& x) {
  using Number = typename Math::Number;
  const Number zero(0.0), half(0.5), one(1.0);
  if (transform == "asymmetric") return x / axis.scale;
  if (transform == "align_corners")
    return Math::choose(axis.out == one, zero, x * (axis.in - one) / (axis.out - one));
  if (transform == "tf_half_pixel_for_nn") return (x + half) / axis.scale;
  if (transform == "half_pixel_symmetric") {
    const Number wanted = axis.scale * axis.in, center = axis.in * half;
    return center * (one - axis.out / wanted) + (x + half) / axis.scale - half;
  }
  const Number centered = (x + half) / axis.scale - half;
  return transform == "pytorch_half_pixel" ? Math::choose(axis.out == one, zero, centered) : centered;
}

/// Returns the place of the nearest element, by ONNX's nearest_mode; it may be outside of the input.
template <typename Math>
typename Math::Number nearest_place(const std::string& rounding, const typename Math::Number& position) {
  using Number = typename Math::Number;
  const Number half(0.5), zero(0.0);
  const auto ceiling = [&](const Number& x) { return zero - Math::floor(zero - x); };
  if (rounding == "ceil") return ceiling(position);
  if (rounding == "round_prefer_floor") return ceiling(position - half);
  if (rounding == "round_prefer_ceil") return Math::floor(position + half);
  return Math::floor(position);
}

/// Elements that an output element is a weighted sum of; places may be outside of the input.
template <typename Math>
struct ResizeTaps {
  std::vector<typename Math::Number> places, weights;
};

/// Returns the two neighbors of a position, or for a cubic the four, with weights by Keys' kernel (R. Keys,
/// "Cubic convolution interpolation for digital image processing", 1981) with parameter `cubic_a`. With
/// `exclude_outside` elements outside of the input have no weight, and the others share it.
template <typename Math>
ResizeTaps<Math> resize_taps(const ResizedAxis<Math>& axis, const typename Math::Number& position, bool cubic,
                             double cubic_a, bool exclude_outside) {
  using Number = typename Math::Number;
  const Number base = Math::floor(position), t = position - base, zero(0.0), one(1.0), a(cubic_a);
  const auto near = [&](const Number& d) {
    return ((a + Number(2.0)) * d - (a + Number(3.0))) * d * d + one;
  };
  const auto far = [&](const Number& d) {
    return ((a * d - Number(5.0) * a) * d + Number(8.0) * a) * d - Number(4.0) * a;
  };
  ResizeTaps<Math> taps;
  taps.weights = cubic ? std::vector<Number>{far(one + t), near(t), near(one - t), far(Number(2.0) - t)}
                       : std::vector<Number>{one - t, t};
  for (size_t k = 0; k < taps.weights.size(); ++k)
    taps.places.push_back(base + Number(static_cast<double>(k) - (cubic ? 1 : 0)));
  if (!exclude_outside) return taps;
  Number sum = zero;
  for (size_t k = 0; k < taps.weights.size(); ++k) {
    const Number& place = taps.places[k];
    taps.weights[k] = Math::choose(place < zero || place >= axis.in, zero, taps.weights[k]);
    sum = sum + taps.weights[k];
  }
  for (Number& weight : taps.weights) weight = weight / sum;
  return taps;
}

}  // namespace intarsia::halide
