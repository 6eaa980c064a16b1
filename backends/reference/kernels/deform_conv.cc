#include <algorithm>
#include <cmath>

#include "backends/reference/kernels/move.h"
#include "backends/reference/kernels/window.h"
#include "backends/reference/kernels/window_axes.h"

namespace intarsia::reference {
namespace {

/// Sizes of a deformable convolution in two dimensions (Dai and others, "Deformable Convolutional Networks",
/// 2017).
struct Deformed {
  WindowAxes axes;
  Shape kernel;
  int64_t groups = 1;
  int64_t offset_groups = 1;
  int64_t taps = 1;
  int64_t in_plane = 1;
  int64_t out_plane = 1;
};

Result<Deformed> read_deformed(const KernelContext& context) {
  TRY(require_inputs(context, 3));
  for (size_t i = 0; i < 3; ++i) TRY(require_rank(context, i, 4));
  const Shape& x = context.input(0).shape;
  const Shape& w = context.input(1).shape;
  Deformed d;
  d.kernel = {w[2], w[3]};
  d.axes = TRY(window_axes(context, {x[2], x[3]}, d.kernel));
  d.groups = TRY(group_attribute(context, "group", x[1]));
  d.offset_groups = TRY(group_attribute(context, "offset_group", x[1]));
  d.taps = w[2] * w[3];
  d.in_plane = x[2] * x[3];
  d.out_plane = TRY(checked_elements({d.axes[0].out, d.axes[1].out}));
  if (w[1] != x[1] / d.groups || w[0] % d.groups != 0) {
    return fail("weights {} for the input {} in {} groups", print_shape(w), print_shape(x), d.groups);
  }
  const int64_t masks = TRY(checked_elements({d.offset_groups, d.taps}));
  const Shape spatial = {x[0], masks, d.axes[0].out, d.axes[1].out};
  const Shape offsets = {x[0], 2 * masks, d.axes[0].out, d.axes[1].out};
  if (context.input(2).shape != offsets) {
    return fail("offsets have shape {}, want {}", print_shape(context.input(2).shape), print_shape(offsets));
  }
  if (context.has_input(3) && context.input(3).shape != Shape{w[0]}) return fail("the bias does not fit");
  if (context.has_input(4) && context.input(4).shape != spatial) {
    return fail("the mask has shape {}, want {}", print_shape(context.input(4).shape), print_shape(spatial));
  }
  return d;
}

/// Samples bilinearly, with zeros outside.
template <typename T>
T sample(const T* plane, int64_t height, int64_t width, T row, T column) {
  if (!(row > -1 && row < static_cast<T>(height) && column > -1 && column < static_cast<T>(width)))
    return T(0);
  const auto top = static_cast<int64_t>(std::floor(row));
  const auto left = static_cast<int64_t>(std::floor(column));
  const T down = row - static_cast<T>(top);
  const T right = column - static_cast<T>(left);
  const auto at = [&](int64_t r, int64_t c) {
    return r < 0 || r >= height || c < 0 || c >= width ? T(0) : plane[r * width + c];
  };
  return (1 - down) * ((1 - right) * at(top, left) + right * at(top, left + 1)) +
         down * ((1 - right) * at(top + 1, left) + right * at(top + 1, left + 1));
}

/// Returns what the kernel's taps read of one image: channels x taps x windows.
template <typename T>
std::vector<T> deformed_columns(const Deformed& d, int64_t channels, const T* x, const T* offsets,
                                const T* mask) {
  std::vector<T> columns(static_cast<size_t>(channels * d.taps * d.out_plane));
  for (int64_t i = 0; i < static_cast<int64_t>(columns.size()); ++i) {
    const int64_t window = i % d.out_plane;
    const int64_t tap = i / d.out_plane % d.taps;
    const int64_t channel = i / d.out_plane / d.taps;
    const int64_t number = channel / (channels / d.offset_groups) * d.taps + tap;
    const int64_t row = d.axes[0].position(window / d.axes[1].out, tap / d.kernel[1]);
    const int64_t column = d.axes[1].position(window % d.axes[1].out, tap % d.kernel[1]);
    const T value = sample(x + channel * d.in_plane, d.axes[0].in, d.axes[1].in,
                           static_cast<T>(row) + offsets[2 * number * d.out_plane + window],
                           static_cast<T>(column) + offsets[(2 * number + 1) * d.out_plane + window]);
    columns[static_cast<size_t>(i)] = mask ? value * mask[number * d.out_plane + window] : value;
  }
  return columns;
}

template <typename T>
void multiply_columns(const Deformed& d, const Shape& w, const T* weights, const T* columns, T* y) {
  const int64_t depth = w[1] * d.taps;
  for (int64_t o = 0; o < w[0]; ++o) {
    const T* group = columns + o / (w[0] / d.groups) * depth * d.out_plane;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t i = 0; i < d.out_plane; ++i) {
        y[o * d.out_plane + i] += weights[o * depth + k] * group[k * d.out_plane + i];
      }
    }
  }
}

}  // namespace

Status deform_conv(KernelContext& context) {
  const Deformed d = TRY(read_deformed(context));
  const ConstTensorView& x = context.input(0);
  const Shape& w = context.input(1).shape;
  const Shape shape = {x.shape[0], w[0], d.axes[0].out, d.axes[1].out};
  TRY(checked_elements(shape));
  TRY(checked_elements({x.shape[1], d.taps, d.out_plane}));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    for (size_t i = 0; i < context.input_count(); ++i) {
      if (context.has_input(i) && !is_float(context.input(i).dtype))
        return unsupported(context.input(i).dtype);
    }
    const ReadAs<T> in(x), weights(context.input(1)), offsets(context.input(2));
    std::optional<ReadAs<T>> bias, mask;
    if (context.has_input(3)) bias.emplace(context.input(3));
    if (context.has_input(4)) mask.emplace(context.input(4));
    WriteAs<T> out(y);
    for (int64_t i = 0; i < out.size(); ++i) out[i] = bias ? (*bias)[i / d.out_plane % w[0]] : T(0);
    if (out.size() == 0) return {};
    for (int64_t n = 0; n < x.shape[0]; ++n) {
      const int64_t first = n * d.offset_groups * d.taps * d.out_plane;
      const std::vector<T> columns =
          deformed_columns(d, x.shape[1], in.data() + n * x.shape[1] * d.in_plane, offsets.data() + 2 * first,
                           mask ? mask->data() + first : nullptr);
      multiply_columns(d, w, weights.data(), columns.data(), out.data() + n * w[0] * d.out_plane);
    }
    return {};
  });
}

}  // namespace intarsia::reference
