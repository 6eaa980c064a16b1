// DFT and STFT of ONNX by fourier.h, and its windows.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "translate/fourier.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Returns the permutation that moves `axis` to the last but one place, and whether it moves anything.
std::vector<int64_t> moved_to_rows(int64_t rank, int64_t axis) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i + 1 < rank; ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  order.push_back(rank - 1);
  return order;
}

std::vector<int64_t> inverse_of(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

/// Returns rows of `has` numbers cut, or filled with zeros, to `wants`.
ValueId with_length(Translation& t, ValueId x, int64_t rank, int64_t has, int64_t wants) {
  if (has > wants) return t.slice(x, rank - 2, 0, wants);
  if (has == wants) return x;
  std::vector<int64_t> pads(2 * static_cast<size_t>(rank), 0);
  pads[2 * static_cast<size_t>(rank) - 2] = wants - has;
  return t.make("Pad", {x, t.make_integers(pads)});
}

/// Translates DFT. The axis is an input since version 20, an attribute (default 1) before.
Status dft(Translation& t) {
  const SymbolicShape sizes = TRY(t.sizes(0));
  const auto rank = static_cast<int64_t>(sizes.size());
  int64_t axis = t.node().version < 20 ? t.attributes().get_int("axis", 1) : -2;
  if (t.has_input(2)) axis = TRY(t.integer(2));
  axis = TRY(normal_axis(axis, rank));
  if (rank < 2 || axis == rank - 1) return fail("along axis {} of rank {}", axis, rank);
  const Dim &size = sizes[static_cast<size_t>(axis)], &components = sizes.back();
  if (!size.is_number() || !components.is_number()) return fail("of an axis whose size is open");
  const bool is_inverse = t.attributes().get_int("inverse", 0) != 0,
             is_onesided = t.attributes().get_int("onesided", 0) != 0;
  Fourier fourier{.length = is_inverse && is_onesided ? 2 * (size.number() - 1) : size.number(),
                  .components = components.number(),
                  .is_inverse = is_inverse,
                  .is_onesided = is_onesided,
                  .dtype = computed_type(t.dtype(0))};
  if (t.has_input(1)) fourier.length = TRY(t.integer(1));
  TRY(check(fourier));
  const std::vector<int64_t> order = moved_to_rows(rank, axis);
  ValueId x = t.computed(0);
  const bool moves = !std::ranges::is_sorted(order);
  if (moves) x = t.transpose(x, order);
  x = transform(t, fourier, with_length(t, x, rank, size.number(), fourier.inputs()), rank);
  if (moves) x = t.transpose(x, inverse_of(order));
  t.give(0, fourier.dtype == t.dtype(0) ? x : t.cast(x, t.dtype(0)));
  return {};
}

/// Frames of an STFT: `length` elements every `step`.
struct Frames {
  int64_t step = 0, length = 0;
};

Result<Frames> read_frames(const Translation& t, const SymbolicShape& sizes) {
  Frames frames{.step = TRY(t.integer(1))};
  if (t.has_input(3)) {
    frames.length = TRY(t.integer(3));
  } else {
    const Dim length = t.has_input(2) ? TRY(t.sizes(2))[0] : sizes[1];
    if (!length.is_number()) return fail("frames whose length is open");
    frames.length = length.number();
  }
  if (frames.step < 1 || frames.length < 1) return fail("frames of {} every {}", frames.length, frames.step);
  return frames;
}

/// Cuts a signal [batch, n, components] into [batch, frames, length, components].
Result<ValueId> cut_frames(Translation& t, ValueId x, const Frames& frames, const Dim& size) {
  if (!size.is_number() || size.number() < frames.length)
    return fail("frames of {} of a signal of {}", frames.length, size.print());
  const int64_t count = (size.number() - frames.length) / frames.step + 1;
  if (count * frames.length > max_made_elements) return fail("{} frames of {}", count, frames.length);
  Tensor places(DType::i64, {count, frames.length});
  for (int64_t i = 0; i < count * frames.length; ++i)
    places.as<int64_t>()[static_cast<size_t>(i)] = i / frames.length * frames.step + i % frames.length;
  return t.make("Gather", {x, t.make_constant(std::move(places))}, {{"axis", int64_t{1}}});
}

/// Computes all frames as a convolution by the rows of the transform's matrix, times the window: frames are
/// not copied, and the signal may have any length.
ValueId convolve_frames(Translation& t, const Fourier& fourier, ValueId x, ValueId window,
                        const Frames& frames) {
  ValueId weights = transform_weights(t, fourier);  // [bins * 2, components, length]
  if (window != no_value) weights = t.make("Mul", {weights, window});
  const ValueId bins =
      t.make("Conv", {t.transpose(x, {0, 2, 1}), weights}, {{"strides", std::vector{frames.step}}});
  return t.make("Reshape", {t.transpose(bins, {0, 2, 1}), t.make_integers({0, 0, fourier.bins(), 2})});
}

Status stft(Translation& t) {
  const SymbolicShape sizes = TRY(t.sizes(0));
  if (sizes.size() != 3 || !sizes[2].is_number()) return fail("of a signal {}", print_shape(sizes));
  const Frames frames = TRY(read_frames(t, sizes));
  const Fourier fourier{.length = frames.length,
                        .components = sizes[2].number(),
                        .is_onesided = t.attributes().get_int("onesided", 1) != 0,
                        .dtype = computed_type(t.dtype(0))};
  TRY(check(fourier));
  const ValueId x = t.computed(0);
  ValueId window = t.has_input(2) ? t.computed(2) : no_value, y = no_value;
  if (window != no_value && t.has_input(3) && TRY(t.sizes(2)) != SymbolicShape{frames.length})
    return fail("a window of {} for frames of {}", print_shape(TRY(t.sizes(2))), frames.length);
  if (fourier.is_factored()) {
    y = TRY(cut_frames(t, x, frames, sizes[1]));
    if (window != no_value) y = t.make("Mul", {y, t.unsqueeze(window, {1})});
    y = transform(t, fourier, y, 4);
  } else {
    y = convolve_frames(t, fourier, x, window, frames);
  }
  t.give(0, fourier.dtype == t.dtype(0) ? y : t.cast(y, t.dtype(0)));
  return {};
}

/// Translates a - b cos(2 pi n / N) + c cos(4 pi n / N), where N is the size of a periodic window, else size
/// - 1.
Status window(Translation& t, double a, double b, double c) {
  const auto dtype = static_cast<DType>(t.attributes().get_int("output_datatype", int64_t{1}));
  if (dtype != DType::f32 && dtype != DType::f64 && computed_type(dtype) != DType::f32)
    return fail("of {}", dtype_name(dtype));
  const DType computed = computed_type(dtype);
  const auto number = [&](double value) { return t.make_scalar(computed, value); };
  const ValueId size = t.make("Reshape", {t.cast(t.input(0), DType::i64), t.make_integers({1})});
  const bool is_periodic = t.attributes().get_int("periodic", 1) != 0;
  ValueId period = t.cast(size, computed);
  if (!is_periodic) period = t.make("Max", {t.make("Sub", {period, number(1)}), number(1)});
  const ValueId place = t.cast(t.count_up(size), computed);
  const ValueId angle = t.make("Mul", {t.make("Div", {place, period}), number(2 * std::numbers::pi)});
  ValueId y = t.make("Sub", {number(a), t.make("Mul", {t.make("Cos", {angle}), number(b)})});
  if (c != 0) {
    const ValueId twice = t.make("Cos", {t.make("Mul", {angle, number(2)})});
    y = t.make("Add", {y, t.make("Mul", {twice, number(c)})});
  }
  if (!is_periodic) y = t.make("Where", {t.make("Equal", {size, t.make_integers({1})}), number(1), y});
  t.give(0, computed == dtype ? y : t.cast(y, dtype));
  return {};
}

Status hann(Translation& t) { return window(t, 0.5, 0.5, 0); }
Status hamming(Translation& t) { return window(t, 25.0 / 46, 21.0 / 46, 0); }
Status blackman(Translation& t) { return window(t, 0.42, 0.5, 0.08); }

constexpr TranslationRow signal_rows[] = {
    {"BlackmanWindow", blackman}, {"DFT", dft},   {"HammingWindow", hamming},
    {"HannWindow", hann},         {"STFT", stft},
};

}  // namespace

std::span<const TranslationRow> signal_decompositions() { return signal_rows; }

}  // namespace intarsia
