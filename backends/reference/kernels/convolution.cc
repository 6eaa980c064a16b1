#include <algorithm>
#include <cmath>

#include "backends/reference/kernels/move.h"
#include "backends/reference/kernels/window.h"
#include "backends/reference/kernels/window_axes.h"

namespace intarsia::reference {
namespace {

Status require_floats(const KernelContext& context) {
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.has_input(i) && context.input(i).dtype != context.input(0).dtype) {
      return fail("inputs 0 and {} have dtypes {} and {}", i, dtype_name(context.input(0).dtype),
                  dtype_name(context.input(i).dtype));
    }
  }
  return {};
}

Status require_bias(const KernelContext& context, size_t input, int64_t channels) {
  if (!context.has_input(input) || context.input(input).shape == Shape{channels}) return {};
  return fail("the bias has shape {}, want {}", print_shape(context.input(input).shape), channels);
}

/// Starts every plane of `out` with its channel's bias, or 0.
template <typename T>
void fill_bias(const KernelContext& context, size_t input, int64_t channels, int64_t plane, WriteAs<T>& out) {
  if (!context.has_input(input)) {
    std::fill(out.begin(), out.end(), T(0));
    return;
  }
  const ReadAs<T> bias(context.input(input));
  for (int64_t i = 0; i < out.size(); ++i) out[i] = bias[i / plane % channels];
}

struct Channels {
  int64_t batch, groups, in, out;  // `in` and `out` are per group
};

Shape out_sizes(const WindowAxes& axes) {
  Shape sizes;
  for (const WindowAxis& axis : axes) sizes.push_back(axis.out);
  return sizes;
}

Shape in_sizes(const WindowAxes& axes) {
  Shape sizes;
  for (const WindowAxis& axis : axes) sizes.push_back(axis.in);
  return sizes;
}

/// Calls tap(index in the kernel, its number) for every element of the kernel.
template <typename F>
void for_each_tap(const Shape& kernel, F&& tap) {
  Shape index(kernel.size(), 0);
  int64_t number = 0;
  do tap(index, number++);
  while (next_index(index, kernel));
}

template <typename T>
void convolve(const WindowAxes& axes, const Shape& kernel, const Channels& c, const T* x, const T* w, T* y) {
  const int64_t taps = element_count(kernel);
  const int64_t x_plane = element_count(in_sizes(axes));
  const int64_t y_plane = element_count(out_sizes(axes));
  const int64_t stride = axes.back().stride;
  for (int64_t n = 0; n < c.batch * c.groups * c.out; ++n) {
    const int64_t image = n / (c.groups * c.out);
    const int64_t channel = n % (c.groups * c.out);
    for (int64_t i = 0; i < c.in; ++i) {
      const T* from = x + (image * c.groups * c.in + channel / c.out * c.in + i) * x_plane;
      const T* weights = w + (channel * c.in + i) * taps;
      for_each_tap(kernel, [&](const Shape& tap, int64_t number) {
        const T weight = weights[number];
        for_each_row(axes, tap, [&](int64_t at_out, int64_t at_in, int64_t count) {
          T* to = y + n * y_plane + at_out;
          for (int64_t j = 0; j < count; ++j) to[j] += weight * from[at_in + j * stride];
        });
      });
    }
  }
}

/// Computes the adjoint of convolve: x lies where windows are, y is what they read.
template <typename T>
void convolve_transposed(const WindowAxes& axes, const Shape& kernel, const Channels& c, const T* x,
                         const T* w, T* y) {
  const int64_t taps = element_count(kernel);
  const int64_t x_plane = element_count(out_sizes(axes));
  const int64_t y_plane = element_count(in_sizes(axes));
  const int64_t stride = axes.back().stride;
  for (int64_t n = 0; n < c.batch * c.groups * c.in; ++n) {
    const int64_t group = n / c.in;  // counted over all images
    const int64_t channel = n % (c.groups * c.in);
    for (int64_t o = 0; o < c.out; ++o) {
      T* to = y + (group * c.out + o) * y_plane;
      const T* weights = w + (channel * c.out + o) * taps;
      for_each_tap(kernel, [&](const Shape& tap, int64_t number) {
        const T weight = weights[number];
        for_each_row(axes, tap, [&](int64_t at_x, int64_t at_y, int64_t count) {
          const T* from = x + n * x_plane + at_x;
          for (int64_t j = 0; j < count; ++j) to[at_y + j * stride] += weight * from[j];
        });
      });
    }
  }
}

Result<Shape> kernel_sizes(const KernelContext& context, const Shape& spatial) {
  const Shape& w = context.input(1).shape;
  const Shape kernel = TRY(spatial_sizes(context, 1));
  if (kernel.size() != spatial.size()) {
    return fail("weights of shape {} for {} spatial axes", print_shape(w), spatial.size());
  }
  if (context.attributes().get_ints("kernel_shape", kernel) != kernel) {
    return fail("kernel_shape is not that of the weights, {}", print_shape(w));
  }
  return kernel;
}

}  // namespace

Status conv(KernelContext& context) {
  TRY(require_inputs(context, 2));
  TRY(require_floats(context));
  const ConstTensorView& x = context.input(0);
  const ConstTensorView& w = context.input(1);
  const Shape spatial = TRY(spatial_sizes(context, 0));
  const Shape kernel = TRY(kernel_sizes(context, spatial));
  const int64_t groups = TRY(group_attribute(context, "group", x.shape[1]));
  if (w.shape[1] != x.shape[1] / groups || w.shape[0] % groups != 0) {
    return fail("weights {} for the input {} in {} groups", print_shape(w.shape), print_shape(x.shape),
                groups);
  }
  TRY(require_bias(context, 2, w.shape[0]));
  const WindowAxes axes = TRY(window_axes(context, spatial, kernel));
  Shape shape = out_sizes(axes);
  const int64_t plane = TRY(checked_elements(shape));
  shape.insert(shape.begin(), {x.shape[0], w.shape[0]});
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    WriteAs<T> out(y);
    fill_bias(context, 2, w.shape[0], plane, out);
    if (out.size() == 0) return {};
    convolve(axes, kernel, {x.shape[0], groups, w.shape[1], w.shape[0] / groups}, ReadAs<T>(x).data(),
             ReadAs<T>(w).data(), out.data());
    return {};
  });
}

Status conv_transpose(KernelContext& context) {
  TRY(require_inputs(context, 2));
  TRY(require_floats(context));
  const ConstTensorView& x = context.input(0);
  const ConstTensorView& w = context.input(1);
  const Shape spatial = TRY(spatial_sizes(context, 0));
  const Shape kernel = TRY(kernel_sizes(context, spatial));
  const int64_t groups = TRY(group_attribute(context, "group", x.shape[1]));
  if (w.shape[0] != x.shape[1]) {
    return fail("weights {} for the input {}", print_shape(w.shape), print_shape(x.shape));
  }
  const int64_t channels = w.shape[1] * groups;
  TRY(require_bias(context, 2, channels));
  const WindowAxes axes = TRY(transposed_window_axes(context, spatial, kernel));
  Shape shape = in_sizes(axes);
  const int64_t plane = TRY(checked_elements(shape));
  shape.insert(shape.begin(), {x.shape[0], channels});
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    WriteAs<T> out(y);
    fill_bias(context, 2, channels, plane, out);
    if (out.size() == 0) return {};
    convolve_transposed(axes, kernel, {x.shape[0], groups, x.shape[1] / groups, w.shape[1]},
                        ReadAs<T>(x).data(), ReadAs<T>(w).data(), out.data());
    return {};
  });
}

namespace {

struct CausalSizes {
  int64_t rows, channels, length, kernel;  // rows: images times channels
};

Result<CausalSizes> causal_sizes(const KernelContext& context) {
  TRY(require_inputs(context, 2));
  TRY(require_floats(context));
  TRY(require_rank(context, 0, 3));
  TRY(require_rank(context, 1, 3));
  const Shape& x = context.input(0).shape;
  const Shape& w = context.input(1).shape;
  if (w[0] != x[1] || w[1] != 1 || w[2] < 1) {
    return fail("weights {} for the input {}", print_shape(w), print_shape(x));
  }
  TRY(checked_elements({x[0], x[1], w[2]}));
  TRY(require_bias(context, 2, x[1]));
  if (context.has_input(3) && context.input(3).shape != Shape{x[0], x[1], w[2] - 1}) {
    return fail("past_state has shape {}", print_shape(context.input(3).shape));
  }
  return CausalSizes{x[0] * x[1], x[1], x[2], w[2]};
}

}  // namespace

Status causal_conv_with_state(KernelContext& context) {
  const CausalSizes c = TRY(causal_sizes(context));
  const std::string activation = context.attributes().get_string("activation", "none");
  const bool silu = activation == "silu" || activation == "swish";
  if (!silu && activation != "none") return fail("activation is '{}'", activation);
  const ConstTensorView& x = context.input(0);
  const int64_t carried = c.kernel - 1;
  TensorView y, state;
  if (context.wants_output(0)) y = TRY(context.output(0, x.dtype, x.shape));
  if (context.wants_output(1)) state = TRY(context.output(1, x.dtype, {x.shape[0], c.channels, carried}));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> in(x), weights(context.input(1));
    std::vector<T> past(static_cast<size_t>(c.rows * carried), T(0)), result(static_cast<size_t>(in.size())),
        present;
    if (context.has_input(3)) {
      const ReadAs<T> given(context.input(3));
      past.assign(given.begin(), given.end());
    }
    for (int64_t row = 0; row < c.rows; ++row) {
      std::vector<T> padded(past.begin() + row * carried, past.begin() + (row + 1) * carried);
      padded.insert(padded.end(), in.data() + row * c.length, in.data() + (row + 1) * c.length);
      present.insert(present.end(), padded.end() - carried, padded.end());
      const T bias = context.has_input(2) ? ReadAs<T>(context.input(2))[row % c.channels] : T(0);
      for (int64_t t = 0; t < c.length; ++t) {
        T sum = bias;
        for (int64_t k = 0; k < c.kernel; ++k) {
          sum += padded[static_cast<size_t>(t + k)] * weights[row % c.channels * c.kernel + k];
        }
        result[static_cast<size_t>(row * c.length + t)] = silu ? sum / (T(1) + std::exp(-sum)) : sum;
      }
    }
    if (y.dtype != DType::undefined) std::ranges::copy(result, WriteAs<T>(y).begin());
    if (state.dtype != DType::undefined) std::ranges::copy(present, WriteAs<T>(state).begin());
    return {};
  });
}

Status col2im(KernelContext& context) {
  TRY(require_inputs(context, 3));
  TRY(require_rank(context, 0, 3));
  const ConstTensorView& x = context.input(0);
  const Shape image = TRY(context.input_ints(1));
  const Shape block = TRY(context.input_ints(2));
  TRY(checked_elements(image));
  if (image.empty()) return fail("image_shape is empty");
  const WindowAxes axes = TRY(window_axes(context, image, block));
  const int64_t taps = TRY(checked_elements(block));
  if (taps == 0 || x.shape[1] % taps != 0 || x.shape[2] != TRY(checked_elements(out_sizes(axes)))) {
    return fail("columns {} for blocks {} of the image {}", print_shape(x.shape), print_shape(block),
                print_shape(image));
  }
  const int64_t channels = x.shape[1] / taps;
  Shape shape = image;
  shape.insert(shape.begin(), {x.shape[0], channels});
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  const int64_t plane = element_count(image);
  const int64_t stride = axes.back().stride;
  return dispatch_number(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> in(x);
    WriteAs<T> out(y);
    std::fill(out.begin(), out.end(), T(0));
    for (int64_t n = 0; n < x.shape[0] * channels; ++n) {
      for_each_tap(block, [&](const Shape& tap, int64_t number) {
        const T* from = in.data() + (n * taps + number) * x.shape[2];
        for_each_row(axes, tap, [&](int64_t at_x, int64_t at_y, int64_t count) {
          for (int64_t j = 0; j < count; ++j) {
            T& to = out[n * plane + at_y + j * stride];
            to = wrapping_add(to, from[at_x + j]);
          }
        });
      });
    }
    return {};
  });
}

}  // namespace intarsia::reference
