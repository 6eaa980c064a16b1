// TensorFlow's operators that round numbers to the steps of a quantization, as training for it does.
#include <algorithm>
#include <cmath>

#include "translate/rules.h"

namespace intarsia {
namespace {

/// Steps of a range of numbers, moved so that one of them is 0.
struct Steps {
  float scale = 1, least = 0, most = 0;
  int64_t zero = 0;
};

/// Returns the steps from `first` to `last` over a range, as TensorFlow's kernel computes them
/// (fake_quant_ops_functor.h).
Result<Steps> steps_of(float min, float max, int64_t first, int64_t last) {
  if (!(min <= 0 && max >= 0 && min < max) || !std::isfinite(max - min))
    return fail("its range is {} to {}, want one around 0", min, max);
  const auto low = static_cast<float>(first), high = static_cast<float>(last);
  Steps steps;
  steps.scale = (max - min) / (high - low);
  const float zero = std::clamp(low - min / steps.scale, low, high);
  steps.zero = static_cast<int64_t>(std::round(zero));
  steps.least = (low - static_cast<float>(steps.zero)) * steps.scale;
  steps.most = (high - static_cast<float>(steps.zero)) * steps.scale;
  return steps;
}

struct Range {
  std::vector<float> min, max;  // one number, or one for each index of the last axis
};

/// Rounds to steps: a number half-way between two goes to the even one, in TensorFlow to the greater one.
Status fake_quantize(Translation& t, const Range& range) {
  const int64_t bits = t.attributes().get_int("num_bits", 8);
  const bool is_narrow = tensorflow::get_bool(t.attributes(), "narrow_range", false);
  if (bits < 2 || bits > 8) return fail("it rounds to {} bits", bits);
  const int64_t first = is_narrow ? 1 : 0, last = (int64_t{1} << bits) - 1;
  const auto count = static_cast<int64_t>(range.min.size());
  Tensor scales(DType::f32, {count}), zeros(DType::u8, {count}), least(DType::f32, {count}),
      most(DType::f32, {count});
  for (size_t i = 0; i < range.min.size(); ++i) {
    const Steps steps = TRY(steps_of(range.min[i], range.max[i], first, last));
    scales.as<float>()[i] = steps.scale;
    zeros.as<uint8_t>()[i] = static_cast<uint8_t>(steps.zero);
    least.as<float>()[i] = steps.least;
    most.as<float>()[i] = steps.most;
  }
  const int64_t axis = count == 1 ? 0 : TRY(t.rank(0)) - 1;
  const Translation::NamedAttributes attributes = {{"axis", axis}};
  ValueId x = t.input(0);
  if (first != 0 || last != 255)
    x = t.make("Min", {t.make("Max", {x, t.make_constant(least)}), t.make_constant(most)});
  const ValueId scale = t.make_constant(scales), zero = t.make_constant(zeros);
  const ValueId integers = t.make("QuantizeLinear", {x, scale, zero}, attributes);
  t.give(0, t.make("DequantizeLinear", {integers, scale, zero}, attributes));
  return {};
}

Status fake_quantize_by_attributes(Translation& t) {
  return fake_quantize(t, {{t.attributes().get_float("min", -6)}, {t.attributes().get_float("max", 6)}});
}

Status fake_quantize_by_inputs(Translation& t) {
  const Tensor min = TRY(t.constant(1)), max = TRY(t.constant(2));
  if (min.dtype() != DType::f32 || max.dtype() != DType::f32 || min.bytes() != max.bytes() ||
      min.bytes() == 0)
    return fail("its range is {} and {}", print_type(t.type(1)), print_type(t.type(2)));
  const auto numbers = [](const Tensor& tensor) {
    return std::vector<float>(tensor.as<float>().begin(), tensor.as<float>().end());
  };
  return fake_quantize(t, {numbers(min), numbers(max)});
}

constexpr TranslationRow quantization_rows[] = {
    {"FakeQuantWithMinMaxArgs", fake_quantize_by_attributes},
    {"FakeQuantWithMinMaxVars", fake_quantize_by_inputs},
    {"FakeQuantWithMinMaxVarsPerChannel", fake_quantize_by_inputs},
};

}  // namespace

std::span<const TranslationRow> quantization_translations() { return quantization_rows; }

}  // namespace intarsia
