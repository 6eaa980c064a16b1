// ConvInteger and QLinearConv, for any number of spatial axes.
#include "backends/reference/kernels/quantization.h"
#include "backends/reference/kernels/window_axes.h"

namespace intarsia::reference {
namespace {

struct ConvolutionShape {
  int64_t batch = 0;
  int64_t channels = 0;  // channels of x
  int64_t out_channels = 0;
  int64_t group = 1;
  WindowAxes axes;
};

Result<ConvolutionShape> convolution_shape(const KernelContext& context, const Shape& x, const Shape& w) {
  if (x.size() < 3 || w.size() != x.size()) {
    return fail("x has shape {}, w {}; want the same rank, 3 or more", print_shape(x), print_shape(w));
  }
  ConvolutionShape shape{x[0], x[1], w[0], TRY(group_attribute(context, "group", x[1])), {}};
  if (shape.out_channels % shape.group != 0 || w[1] != shape.channels / shape.group) {
    return fail("x {} and w {} do not fit {} groups", print_shape(x), print_shape(w), shape.group);
  }
  shape.axes = TRY(window_axes(context, Shape(x.begin() + 2, x.end()), Shape(w.begin() + 2, w.end())));
  return shape;
}

Shape output_shape(const ConvolutionShape& shape) {
  Shape result = {shape.batch, shape.out_channels};
  for (const WindowAxis& axis : shape.axes) result.push_back(axis.out);
  return result;
}

// Returns the offset in one channel of x under kernel position `tap` of output position `at`, or -1 in the
// padding.
int64_t input_offset(const WindowAxes& axes, int64_t at, int64_t tap) {
  int64_t offset = 0;
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const int64_t position = axes[i].position(at % axes[i].out, tap % axes[i].kernel);
    if (position < 0 || position >= axes[i].in) return -1;
    offset += position * stride;
    stride *= axes[i].in;
    at /= axes[i].out;
    tap /= axes[i].kernel;
  }
  return offset;
}

// Zero points: x has one, w one or one for each output channel. The padding is x's zero point, so it adds
// nothing.
struct ZeroPoints {
  double x = 0;
  std::vector<double> w;
};

Result<std::vector<double>> read_by_channel(const KernelContext& context, size_t input, int64_t channels,
                                            double otherwise) {
  if (!context.has_input(input)) return std::vector<double>(static_cast<size_t>(channels), otherwise);
  TRY(require_number(context, input));
  ReadAs<double> values(context.input(input));
  if (values.size() == 1) return std::vector<double>(static_cast<size_t>(channels), values[0]);
  if (values.size() != channels)
    return fail("input {} has {} elements, want 1 or {}", input, values.size(), channels);
  return std::vector<double>(values.begin(), values.end());
}

Result<double> read_single(const KernelContext& context, size_t input, double otherwise) {
  if (!context.has_input(input)) return otherwise;
  return TRY(read_by_channel(context, input, 1, otherwise)).front();
}

// Calls store(i, channel, sum) for every output element.
template <typename F>
void convolve(const ReadAs<double>& x, const ReadAs<double>& w, const ConvolutionShape& shape,
              const ZeroPoints& zero, F store) {
  int64_t positions = 1, taps = 1, in_positions = 1;
  for (const WindowAxis& axis : shape.axes) {
    positions *= axis.out;
    taps *= axis.kernel;
    in_positions *= axis.in;
  }
  const int64_t in_group = shape.channels / shape.group;
  const int64_t out_group = shape.out_channels / shape.group;
  std::vector<double> sums(static_cast<size_t>(shape.batch * shape.out_channels));
  for (int64_t at = 0; at < positions; ++at) {
    std::ranges::fill(sums, 0.0);
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t offset = input_offset(shape.axes, at, tap);
      if (offset < 0) continue;
      for (int64_t nm = 0; nm < shape.batch * shape.out_channels; ++nm) {
        const int64_t m = nm % shape.out_channels;
        const int64_t first = nm / shape.out_channels * shape.channels + m / out_group * in_group;
        for (int64_t c = 0; c < in_group; ++c) {
          sums[static_cast<size_t>(nm)] +=
              (x[(first + c) * in_positions + offset] - zero.x) *
              (w[(m * in_group + c) * taps + tap] - zero.w[static_cast<size_t>(m)]);
        }
      }
    }
    for (int64_t nm = 0; nm < shape.batch * shape.out_channels; ++nm) {
      store(nm * positions + at, static_cast<size_t>(nm % shape.out_channels), sums[static_cast<size_t>(nm)]);
    }
  }
}

Status run_conv_integer(KernelContext& context) {
  TRY(require_number(context, 0));
  TRY(require_number(context, 1));
  const ConstTensorView& x = context.input(0);
  const ConstTensorView& w = context.input(1);
  const ConvolutionShape shape = TRY(convolution_shape(context, x.shape, w.shape));
  const ZeroPoints zero{TRY(read_single(context, 2, 0)),
                        TRY(read_by_channel(context, 3, shape.out_channels, 0))};
  TensorView y = TRY(context.output(0, DType::i32, output_shape(shape)));
  auto* out = static_cast<int32_t*>(y.data);
  convolve(ReadAs<double>(x), ReadAs<double>(w), shape, zero,
           [&](int64_t i, size_t, double sum) { out[i] = convert<int32_t>(convert<int64_t>(sum)); });
  return {};
}

Status run_qlinear_conv(KernelContext& context) {
  for (size_t i = 0; i < 8; ++i) TRY(require_number(context, i));
  const ConstTensorView& x = context.input(0);
  const ConstTensorView& w = context.input(3);
  const DType dtype = context.input(7).dtype;
  TRY(require_quantized(dtype));
  const ConvolutionShape shape = TRY(convolution_shape(context, x.shape, w.shape));
  const ZeroPoints zero{TRY(read_single(context, 2, 0)),
                        TRY(read_by_channel(context, 5, shape.out_channels, 0))};
  const double x_scale = TRY(read_single(context, 1, 1));
  const std::vector<double> w_scale = TRY(read_by_channel(context, 4, shape.out_channels, 1));
  const double y_scale = TRY(read_single(context, 6, 1));
  const double y_zero = TRY(read_single(context, 7, 0));
  const std::vector<double> bias = TRY(read_by_channel(context, 8, shape.out_channels, 0));
  TensorView y = TRY(context.output(0, dtype, output_shape(shape)));
  convolve(ReadAs<double>(x), ReadAs<double>(w), shape, zero, [&](int64_t i, size_t m, double sum) {
    const double value = (sum + bias[m]) * (x_scale * w_scale[m] / y_scale);
    store_quantized(y, i, quantize(value, y_zero, dtype), true);
  });
  return {};
}

}  // namespace

std::span<const KernelEntry> quantized_convolution_kernels() {
  static const KernelEntry entries[] = {
      {"ConvInteger", "", run_conv_integer},
      {"QLinearConv", "", run_qlinear_conv},
  };
  return entries;
}

}  // namespace intarsia::reference
