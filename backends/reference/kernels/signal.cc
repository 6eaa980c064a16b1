// DFT, STFT, window functions and the mel weight matrix.
#include <cmath>
#include <complex>
#include <numbers>

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/kernel_families.h"

namespace intarsia::reference {
namespace {

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;

constexpr int64_t longest_transform = int64_t{1} << 32;

// Computes X[k] = sum of x[n] exp(sign * 2 pi i k n / N): halves while N is even, by definition for the odd
// rest.
Signal transform(const Signal& x, double sign) {
  const size_t count = x.size();
  Signal result(count);
  const double step = sign * 2 * std::numbers::pi / static_cast<double>(count);
  if (count < 4 || count % 2 != 0) {
    for (size_t k = 0; k < count; ++k) {
      for (size_t n = 0; n < count; ++n)
        result[k] += x[n] * std::polar(1.0, step * static_cast<double>(k * n % count));
    }
    return result;
  }
  Signal even;
  Signal odd;
  for (size_t n = 0; n < count; n += 2) {
    even.push_back(x[n]);
    odd.push_back(x[n + 1]);
  }
  even = transform(even, sign);
  odd = transform(odd, sign);
  for (size_t k = 0; k < count / 2; ++k) {
    const Complex turned = std::polar(1.0, step * static_cast<double>(k)) * odd[k];
    result[k] = even[k] + turned;
    result[k + count / 2] = even[k] - turned;
  }
  return result;
}

Result<int64_t> scalar_input(const KernelContext& context, size_t input) {
  const std::vector<int64_t> values = TRY(context.input_ints(input));
  if (values.size() != 1) return fail("input {} has {} elements, want 1", input, values.size());
  return values[0];
}

struct TransformShape {
  AxisSplit split;         // split of the signal without its last axis
  int64_t components = 1;  // 1 real, 2 complex
  int64_t length = 0;      // length of the transform
  int64_t out_size = 0;
  int64_t out_components = 2;
  bool inverse = false;
  bool onesided = false;
  Shape output;
};

// Reads the shape. The axis is an input since version 20, an attribute (default 1) before.
Result<TransformShape> transform_shape(const KernelContext& context) {
  TRY(require_number(context, 0));
  const Shape& x = context.input(0).shape;
  if (x.size() < 2 || (x.back() != 1 && x.back() != 2))
    return fail("input has shape {}, want a last axis of 1 or 2", print_shape(x));
  int64_t axis = context.version() < 20 ? context.attributes().get_int("axis", 1) : -2;
  if (context.has_input(2)) axis = TRY(scalar_input(context, 2));
  axis = TRY(resolve_axis(axis, x.size()));
  if (axis == static_cast<int64_t>(x.size()) - 1)
    return fail("axis {} holds the real and imaginary parts", axis);
  TransformShape shape;
  shape.components = x.back();
  shape.split = split_at_axis(Shape(x.begin(), x.end() - 1), axis);
  shape.inverse = context.attributes().get_int("inverse", 0) != 0;
  shape.onesided = context.attributes().get_int("onesided", 0) != 0;
  shape.length = shape.inverse && shape.onesided ? 2 * (shape.split.size - 1) : shape.split.size;
  if (context.has_input(1)) shape.length = TRY(scalar_input(context, 1));
  if (shape.length < 1 || shape.length > longest_transform)
    return fail("a transform of length {} is not possible", shape.length);
  if (shape.onesided && !shape.inverse && shape.components == 2)
    return fail("a complex signal has no one-sided transform");
  shape.out_size = shape.onesided && !shape.inverse ? shape.length / 2 + 1 : shape.length;
  shape.out_components = shape.onesided && shape.inverse ? 1 : 2;
  shape.output = x;
  shape.output[static_cast<size_t>(axis)] = shape.out_size;
  shape.output.back() = shape.out_components;
  return shape;
}

// Transforms back. A one-sided spectrum lacks the other half, which is the conjugate of the given one; this
// also makes the ends real.
Signal inverse_transform(Signal spectrum, bool onesided) {
  const size_t count = spectrum.size();
  if (onesided) {
    spectrum[0] = spectrum[0].real();
    if (count % 2 == 0) spectrum[count / 2] = spectrum[count / 2].real();
    for (size_t k = 1; k < (count + 1) / 2; ++k) spectrum[count - k] = std::conj(spectrum[k]);
  }
  Signal signal = transform(spectrum, 1);
  for (Complex& value : signal) value /= static_cast<double>(count);
  return signal;
}

Status run_dft(KernelContext& context) {
  const TransformShape shape = TRY(transform_shape(context));
  const ConstTensorView& x = context.input(0);
  TensorView y = TRY(context.output(0, x.dtype, shape.output));
  ReadAs<double> in(x);
  WriteAs<double> out(y);
  const AxisSplit& split = shape.split;
  for (int64_t row = 0; row < split.outer * split.inner; ++row) {
    const int64_t outer = row / split.inner;
    const int64_t inner = row % split.inner;
    Signal signal(static_cast<size_t>(shape.length));
    for (int64_t k = 0; k < std::min(shape.length, split.size); ++k) {
      const int64_t at = ((outer * split.size + k) * split.inner + inner) * shape.components;
      signal[static_cast<size_t>(k)] = {in[at], shape.components == 2 ? in[at + 1] : 0.0};
    }
    const Signal result =
        shape.inverse ? inverse_transform(std::move(signal), shape.onesided) : transform(signal, -1);
    for (int64_t k = 0; k < shape.out_size; ++k) {
      const int64_t at = ((outer * shape.out_size + k) * split.inner + inner) * shape.out_components;
      out[at] = result[static_cast<size_t>(k)].real();
      if (shape.out_components == 2) out[at + 1] = result[static_cast<size_t>(k)].imag();
    }
  }
  return {};
}

struct FrameShape {
  int64_t length = 0;
  int64_t step = 0;
  int64_t frames = 0;
  int64_t bins = 0;
};

// Reads the frames. Inputs: signal, frame_step, window, frame_length; either of the last two determines the
// length.
Result<FrameShape> frame_shape(const KernelContext& context) {
  TRY(require_number(context, 0));
  TRY(require_inputs(context, 2));
  const Shape& x = context.input(0).shape;
  if (x.size() != 3 || (x[2] != 1 && x[2] != 2))
    return fail("signal has shape {}, want batch x length x 1 or 2", print_shape(x));
  FrameShape shape;
  shape.step = TRY(scalar_input(context, 1));
  shape.length = x[1];
  if (context.has_input(2)) {
    TRY(require_number(context, 2));
    if (context.input(2).shape.size() != 1)
      return fail("window has shape {}", print_shape(context.input(2).shape));
    shape.length = context.input(2).shape[0];
  }
  if (context.has_input(3)) shape.length = TRY(scalar_input(context, 3));
  if (context.has_input(2)) TRY(require_shape(context, 2, {shape.length}));
  if (shape.step < 1 || shape.length < 1 || shape.length > x[1]) {
    return fail("frames of {} every {} do not fit a signal of {}", shape.length, shape.step, x[1]);
  }
  const bool onesided = context.attributes().get_int("onesided", 1) != 0;
  if (onesided && x[2] == 2) return fail("a complex signal has no one-sided transform");
  shape.frames = (x[1] - shape.length) / shape.step + 1;
  shape.bins = onesided ? shape.length / 2 + 1 : shape.length;
  return shape;
}

Status run_stft(KernelContext& context) {
  const FrameShape shape = TRY(frame_shape(context));
  const ConstTensorView& x = context.input(0);
  TensorView y = TRY(context.output(0, x.dtype, {x.shape[0], shape.frames, shape.bins, 2}));
  std::vector<double> window(static_cast<size_t>(shape.length), 1.0);
  if (context.has_input(2)) read_numbers(context.input(2), window.data());
  ReadAs<double> in(x);
  WriteAs<double> out(y);
  const int64_t parts = x.shape[2];
  for (int64_t frame = 0; frame < x.shape[0] * shape.frames; ++frame) {
    const int64_t start = frame / shape.frames * x.shape[1] + frame % shape.frames * shape.step;
    Signal signal;
    for (int64_t k = 0; k < shape.length; ++k) {
      const int64_t at = (start + k) * parts;
      signal.push_back(Complex(in[at], parts == 2 ? in[at + 1] : 0.0) * window[static_cast<size_t>(k)]);
    }
    const Signal result = transform(signal, -1);
    for (int64_t k = 0; k < shape.bins; ++k) {
      out[(frame * shape.bins + k) * 2] = result[static_cast<size_t>(k)].real();
      out[(frame * shape.bins + k) * 2 + 1] = result[static_cast<size_t>(k)].imag();
    }
  }
  return {};
}

Result<DType> output_datatype(const KernelContext& context) {
  const int64_t number = context.attributes().get_int("output_datatype", 1);
  if (number <= 0 || number >= dtype_count || !is_number(static_cast<DType>(number))) {
    return fail("attribute output_datatype is {}", number);
  }
  return static_cast<DType>(number);
}

// Computes a - b cos(2 pi n / N) + c cos(4 pi n / N), N = size for a periodic window, else size - 1.
Status run_window(KernelContext& context, double a, double b, double c) {
  TRY(require_inputs(context, 1));
  const int64_t size = TRY(scalar_input(context, 0));
  const bool periodic = context.attributes().get_int("periodic", 1) != 0;
  TensorView y = TRY(context.output(0, TRY(output_datatype(context)), {size}));
  WriteAs<double> out(y);
  const double period = static_cast<double>(periodic ? size : std::max<int64_t>(size - 1, 1));
  for (int64_t n = 0; n < size; ++n) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
    out[n] = size == 1 && !periodic ? 1 : a - b * std::cos(angle) + c * std::cos(2 * angle);
  }
  return {};
}

Status run_hann(KernelContext& context) { return run_window(context, 0.5, 0.5, 0); }
Status run_hamming(KernelContext& context) { return run_window(context, 25.0 / 46, 21.0 / 46, 0); }
Status run_blackman(KernelContext& context) { return run_window(context, 0.42, 0.5, 0.08); }

Result<double> float_input(const KernelContext& context, size_t input) {
  TRY(require_number(context, input));
  if (element_count(context.input(input).shape) != 1) return fail("input {} is not a scalar", input);
  return ReadAs<double>(context.input(input))[0];
}

// Returns the spectrogram bins at the corners of the triangles, evenly spaced in mel = 2595 log10(1 + f /
// 700).
Result<std::vector<int64_t>> mel_corners(const KernelContext& context, int64_t bands, int64_t length) {
  const int64_t rate = TRY(scalar_input(context, 2));
  if (rate < 1) return fail("sample_rate is {}", rate);
  auto mel = [](double f) { return 2595 * std::log10(1 + f / 700); };
  const double low = mel(TRY(float_input(context, 3)));
  const double step = (mel(TRY(float_input(context, 4))) - low) / static_cast<double>(bands + 2);
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double f = 700 * (std::pow(10.0, (low + static_cast<double>(i) * step) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * f / static_cast<double>(rate));
    if (!(bin >= 0 && bin <= static_cast<double>(length / 2)))
      return fail("{} Hz is outside the spectrum", f);
    corners.push_back(static_cast<int64_t>(bin));
  }
  return corners;
}

Status run_mel_weight_matrix(KernelContext& context) {
  TRY(require_inputs(context, 5));
  const int64_t bands = TRY(scalar_input(context, 0));
  const int64_t length = TRY(scalar_input(context, 1));
  if (bands < 0 || bands > longest_transform || length < 0 || length > longest_transform) {
    return fail("num_mel_bins {} and dft_length {} are out of range", bands, length);
  }
  TensorView y = TRY(context.output(0, TRY(output_datatype(context)), {length / 2 + 1, bands}));
  const std::vector<int64_t> corners = TRY(mel_corners(context, bands, length));
  std::vector<double> matrix(static_cast<size_t>(element_count(y.shape)), 0.0);
  for (int64_t i = 0; i < bands; ++i) {
    const int64_t left = corners[static_cast<size_t>(i)];
    const int64_t center = corners[static_cast<size_t>(i) + 1];
    const int64_t right = corners[static_cast<size_t>(i) + 2];
    auto at = [&](int64_t bin) -> double& { return matrix[static_cast<size_t>(bin * bands + i)]; };
    if (left == center) at(center) = 1;
    for (int64_t j = left; j <= center && left != center; ++j) {
      at(j) = static_cast<double>(j - left) / static_cast<double>(center - left);
    }
    for (int64_t j = center; j < right; ++j)
      at(j) = static_cast<double>(right - j) / static_cast<double>(right - center);
  }
  write_numbers(matrix.data(), y);
  return {};
}

}  // namespace

std::span<const KernelEntry> signal_kernels() {
  static const KernelEntry entries[] = {
      {"BlackmanWindow", "", run_blackman},
      {"DFT", "", run_dft},
      {"HammingWindow", "", run_hamming},
      {"HannWindow", "", run_hann},
      {"MelWeightMatrix", "", run_mel_weight_matrix},
      {"STFT", "", run_stft},
  };
  return entries;
}

}  // namespace intarsia::reference
