// ConvInteger and QLinearConv, for any number of spatial axes.
#include "backends/reference/kernels/quantization.h"

namespace intarsia::reference {
namespace {

struct ConvolutionShape {
  int64_t batch = 0;
  int64_t channels = 0;  // of x
  int64_t out_channels = 0;
  int64_t group = 1;
  Shape in;
  Shape kernel;
  Shape out;
  Shape strides;
  Shape dilations;
  Shape pads;  // at the beginning of each axis
};

constexpr int64_t largest_setting = int64_t{1} << 31;

Result<Shape> read_settings(const KernelContext& context, std::string_view name, size_t count,
                            int64_t otherwise, int64_t least) {
  Shape values = context.attributes().get_ints(name, Shape(count, otherwise));
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count)
    return fail("attribute {} has {} elements, want {}", name, values.size(), count);
  for (int64_t value : values) {
    if (value < least || value > largest_setting) return fail("attribute {} holds {}", name, value);
  }
  return values;
}

// Sizes after padding, by auto_pad or explicit pads.
Status set_output_sizes(const KernelContext& context, ConvolutionShape& shape) {
  const size_t rank = shape.in.size();
  const Shape pads = TRY(read_settings(context, "pads", 2 * rank, 0, 0));
  const std::string mode = context.attributes().get_string("auto_pad", "NOTSET");
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = (shape.kernel[i] - 1) * shape.dilations[i] + 1;
    int64_t before = mode == "NOTSET" || mode.empty() ? pads[i] : 0;
    int64_t total = mode == "NOTSET" || mode.empty() ? pads[i] + pads[rank + i] : 0;
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const int64_t out = (shape.in[i] + shape.strides[i] - 1) / shape.strides[i];
      total = std::max<int64_t>(0, (out - 1) * shape.strides[i] + extent - shape.in[i]);
      before = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    } else if (mode != "NOTSET" && mode != "VALID" && !mode.empty()) {
      return fail("attribute auto_pad is '{}'", mode);
    }
    const int64_t room = shape.in[i] + total - extent;
    shape.out.push_back(room < 0 ? 0 : room / shape.strides[i] + 1);
    shape.pads.push_back(before);
  }
  return {};
}

Result<ConvolutionShape> convolution_shape(const KernelContext& context, const Shape& x, const Shape& w) {
  if (x.size() < 3 || w.size() != x.size()) {
    return fail("x has shape {}, w {}; want the same rank, 3 or more", print_shape(x), print_shape(w));
  }
  ConvolutionShape shape;
  shape.batch = x[0];
  shape.channels = x[1];
  shape.out_channels = w[0];
  shape.group = context.attributes().get_int("group", 1);
  if (shape.group <= 0 || shape.channels % shape.group != 0 || shape.out_channels % shape.group != 0 ||
      w[1] != shape.channels / shape.group) {
    return fail("x {} and w {} do not fit {} groups", print_shape(x), print_shape(w), shape.group);
  }
  shape.in.assign(x.begin() + 2, x.end());
  shape.kernel.assign(w.begin() + 2, w.end());
  for (int64_t size : shape.kernel) {
    if (size <= 0 || size > largest_setting) return fail("w has shape {}", print_shape(w));
  }
  shape.strides = TRY(read_settings(context, "strides", shape.in.size(), 1, 1));
  shape.dilations = TRY(read_settings(context, "dilations", shape.in.size(), 1, 1));
  for (size_t i = 0; i < shape.in.size(); ++i) {
    if (shape.kernel[i] * shape.dilations[i] > largest_setting)
      return fail("attribute dilations is too large");
  }
  TRY(set_output_sizes(context, shape));
  return shape;
}

Shape output_shape(const ConvolutionShape& shape) {
  Shape result = {shape.batch, shape.out_channels};
  result.insert(result.end(), shape.out.begin(), shape.out.end());
  return result;
}

// Offset in one channel of x under kernel position `tap` of output position `at`, or -1 in the padding.
int64_t input_offset(const ConvolutionShape& shape, int64_t at, int64_t tap) {
  int64_t offset = 0;
  int64_t stride = 1;
  for (size_t i = shape.in.size(); i-- > 0;) {
    const int64_t position =
        at % shape.out[i] * shape.strides[i] + tap % shape.kernel[i] * shape.dilations[i] - shape.pads[i];
    if (position < 0 || position >= shape.in[i]) return -1;
    offset += position * stride;
    stride *= shape.in[i];
    at /= shape.out[i];
    tap /= shape.kernel[i];
  }
  return offset;
}

// Zero points: x one, w one or one for each output channel. The padding is x's zero point, so adds nothing.
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
  const int64_t positions = element_count(shape.out);
  const int64_t taps = element_count(shape.kernel);
  const int64_t in_positions = element_count(shape.in);
  const int64_t in_group = shape.channels / shape.group;
  const int64_t out_group = shape.out_channels / shape.group;
  std::vector<double> sums(static_cast<size_t>(shape.batch * shape.out_channels));
  for (int64_t at = 0; at < positions; ++at) {
    std::ranges::fill(sums, 0.0);
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t offset = input_offset(shape, at, tap);
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
  const TensorView& x = context.input(0);
  const TensorView& w = context.input(1);
  const ConvolutionShape shape = TRY(convolution_shape(context, x.shape, w.shape));
  const ZeroPoints zero{TRY(read_single(context, 2, 0)),
                        TRY(read_by_channel(context, 3, shape.out_channels, 0))};
  TensorView y = TRY(context.output(0, DType::i32, output_shape(shape)));
  auto* out = static_cast<int32_t*>(y.data);
  convolve(ReadAs<double>(x), ReadAs<double>(w), shape, zero, [&](int64_t i, size_t, double sum) {
    out[i] = static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(sum)));
  });
  return {};
}

Status run_qlinear_conv(KernelContext& context) {
  for (size_t i = 0; i < 8; ++i) TRY(require_number(context, i));
  const TensorView& x = context.input(0);
  const TensorView& w = context.input(3);
  const DType dtype = context.input(7).dtype;
  if (dtype_bits(dtype) > 32) return unsupported(dtype);
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
