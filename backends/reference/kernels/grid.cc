#include <algorithm>
#include <cmath>

#include "backends/reference/kernels/image.h"
#include "backends/reference/kernels/move.h"

namespace intarsia::reference {
namespace {

enum class Sampling { nearest, linear, cubic };
enum class Padding { zeros, border, reflection };

struct SampleRule {
  Sampling sampling = Sampling::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;
};

Result<SampleRule> read_rule(const KernelContext& context) {
  SampleRule rule;
  rule.align_corners = context.attributes().get_int("align_corners", 0) != 0;
  const std::string mode = context.attributes().get_string("mode", "linear");
  const std::string padding = context.attributes().get_string("padding_mode", "zeros");
  if (mode == "nearest") {
    rule.sampling = Sampling::nearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    rule.sampling = Sampling::cubic;
  } else if (mode != "linear" && mode != "bilinear") {
    return fail("mode is '{}', want nearest, linear or cubic", mode);
  }
  if (padding == "border") {
    rule.padding = Padding::border;
  } else if (padding == "reflection") {
    rule.padding = Padding::reflection;
  } else if (padding != "zeros") {
    return fail("padding_mode is '{}', want zeros, border or reflection", padding);
  }
  return rule;
}

/// Mirrors at both borders until inside.
template <typename T>
T reflect(T x, T low, T high) {
  const T range = high - low;
  if (!(range > 0)) return low;
  const T distance = x < low ? low - x : x > high ? x - high : T(0);
  if (distance == 0) return x;
  const T times = std::floor(distance / range);
  const T rest = distance - times * range;
  const bool even = std::fmod(times, T(2)) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

struct Tap {
  int64_t index;  // -1: reads as 0
  double weight;
};

int64_t pad_index(const SampleRule& rule, int64_t index, int64_t size) {
  if (index >= 0 && index < size) return index;
  if (rule.padding == Padding::zeros) return -1;
  if (rule.padding == Padding::reflection) {
    const double edge = rule.align_corners ? 0 : 0.5;
    index = static_cast<int64_t>(
        reflect(static_cast<double>(index), -edge, static_cast<double>(size) - 1 + edge));
  }
  return std::clamp<int64_t>(index, 0, size - 1);
}

/// Returns the grid's coordinate, -1 ... 1, in elements; moved inside according to the padding.
template <typename T>
T locate(const SampleRule& rule, T coordinate, int64_t size) {
  const auto length = static_cast<T>(size);
  T x = rule.align_corners ? (coordinate + 1) / T(2) * (length - 1) : ((coordinate + 1) * length - 1) / T(2);
  if (rule.sampling == Sampling::nearest) x = std::nearbyint(x);
  const T edge = rule.align_corners ? T(0) : T(0.5);
  if (x < -edge || x > length - 1 + edge) {
    // A cubic's taps are moved one by one, as in the PyTorch function that the operator is modeled on.
    if (rule.padding == Padding::border && rule.sampling != Sampling::cubic)
      x = std::clamp(x, T(0), length - 1);
    if (rule.padding == Padding::reflection) x = reflect(x, -edge, length - 1 + edge);
  }
  // NaN and values that no integer holds are far outside.
  return std::abs(x) < T(1e9) ? x : T(-1e9);
}

template <typename T>
std::vector<Tap> taps_of(const SampleRule& rule, T coordinate, int64_t size) {
  const T x = locate(rule, coordinate, size);
  const auto first = static_cast<int64_t>(std::floor(x));
  const double r = static_cast<double>(x) - static_cast<double>(first);
  std::vector<Tap> taps;
  if (rule.sampling == Sampling::nearest) {
    taps = {{static_cast<int64_t>(x), 1.0}};
  } else if (rule.sampling == Sampling::linear) {
    taps = {{first, 1 - r}, {first + 1, r}};
  } else {
    const double a = -0.75;
    const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    taps = {{first - 1, far(1 + r)}, {first, near(r)}, {first + 1, near(1 - r)}, {first + 2, far(2 - r)}};
  }
  for (Tap& tap : taps) tap.index = pad_index(rule, tap.index, size);
  return taps;
}

struct Corner {
  int64_t offset;
  double weight;
};

/// Returns all combinations of one tap per axis.
std::vector<Corner> combine(const std::vector<std::vector<Tap>>& axes, const Shape& sizes) {
  std::vector<Corner> corners = {{0, 1}};
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    std::vector<Corner> next;
    for (const Corner& corner : corners) {
      for (const Tap& tap : axes[axis]) {
        if (tap.index >= 0)
          next.push_back({corner.offset * sizes[axis] + tap.index, corner.weight * tap.weight});
      }
    }
    corners = std::move(next);
  }
  return corners;
}

template <typename T>
void sample(const SampleRule& rule, const ConstTensorView& x, const ConstTensorView& grid,
            std::vector<double>& y) {
  const Shape sizes(x.shape.begin() + 2, x.shape.end());
  const auto rank = static_cast<int64_t>(sizes.size());
  const int64_t plane = element_count(sizes);
  const ReadAs<double> in(x);
  const ReadAs<T> points(grid);
  const int64_t count = points.size() / rank / x.shape[0];
  for (int64_t i = 0; i < points.size() / rank; ++i) {
    std::vector<std::vector<Tap>> axes;
    // A point lists its coordinates from the innermost axis outward.
    for (int64_t k = 0; k < rank; ++k) {
      axes.push_back(taps_of(rule, points[i * rank + rank - 1 - k], sizes[static_cast<size_t>(k)]));
    }
    const std::vector<Corner> corners = combine(axes, sizes);
    for (int64_t c = 0; c < x.shape[1]; ++c) {
      const int64_t number = i / count * x.shape[1] + c;
      double sum = 0;
      for (const Corner& corner : corners) sum += corner.weight * in[number * plane + corner.offset];
      y[static_cast<size_t>(number * count + i % count)] = sum;
    }
  }
}

}  // namespace

Status grid_sample(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const ConstTensorView& x = context.input(0);
  const ConstTensorView& grid = context.input(1);
  const SampleRule rule = TRY(read_rule(context));
  const size_t rank = x.shape.size();
  if (rank < 3 || rank > 10 || grid.shape.size() != rank || grid.shape[0] != x.shape[0] ||
      grid.shape.back() != static_cast<int64_t>(rank - 2)) {
    return fail("a grid of shape {} for the input {}", print_shape(grid.shape), print_shape(x.shape));
  }
  if (!is_number(x.dtype)) return unsupported(x.dtype);
  Shape shape = {x.shape[0], x.shape[1]};
  shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  const int64_t count = TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  if (count == 0) return {};
  if (element_count(x.shape) == 0) return fail("an empty input of shape {}", print_shape(x.shape));
  return dispatch_float(grid.dtype, [&]<typename T>() -> Status {
    std::vector<double> values(static_cast<size_t>(count));
    sample<T>(rule, x, grid, values);
    write_numbers(values.data(), y);
    return {};
  });
}

Status affine_grid(KernelContext& context) {
  TRY(require_inputs(context, 2));
  TRY(require_rank(context, 0, 3));
  const ConstTensorView& theta = context.input(0);
  const Shape size = TRY(context.input_ints(1));
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  if ((rank != 2 && rank != 3) || theta.shape != Shape{size[0], rank, rank + 1}) {
    return fail("theta of shape {} for the size {}", print_shape(theta.shape), print_shape(size));
  }
  Shape shape = {size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  const int64_t points = TRY(checked_elements(shape));
  shape.push_back(rank);
  TRY(checked_elements(shape));
  const bool align = context.attributes().get_int("align_corners", 0) != 0;
  const TensorView y = TRY(context.output(0, theta.dtype, shape));
  return dispatch_float(theta.dtype, [&]<typename T>() -> Status {
    const ReadAs<double> matrix(theta);
    WriteAs<T> out(y);
    for (int64_t i = 0; i < points; ++i) {
      double at[4];  // x, y, (z,) 1
      int64_t rest = i;
      for (int64_t k = 0; k < rank; ++k) {
        const int64_t length = shape[static_cast<size_t>(rank - k)];
        const auto index = static_cast<double>(rest % length);
        const auto steps = static_cast<double>(align ? length - 1 : length);
        at[k] = align ? (length == 1 ? 0 : -1 + 2 * index / steps) : (2 * index + 1) / steps - 1;
        rest /= length;
      }
      at[rank] = 1;
      for (int64_t row = 0; row < rank; ++row) {
        double sum = 0;
        for (int64_t k = 0; k <= rank; ++k) sum += matrix[(rest * rank + row) * (rank + 1) + k] * at[k];
        out[i * rank + row] = static_cast<T>(sum);
      }
    }
    return {};
  });
}

}  // namespace intarsia::reference
