// Random tensors. With the attribute seed they are the same in every run, else different; they never match
// those of another implementation.
#include <bit>
#include <cmath>
#include <random>

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/kernel_families.h"

namespace intarsia::reference {
namespace {

using Generator = std::mt19937_64;

// Makes a generator. The seed is a float attribute, an integer for Dropout.
Generator make_generator(const Attributes& attributes) {
  if (const int64_t* seed =
          attributes.has("seed") ? std::get_if<int64_t>(attributes.find("seed")) : nullptr) {
    return Generator(static_cast<uint64_t>(*seed));
  }
  if (attributes.has("seed")) return Generator(std::bit_cast<uint32_t>(attributes.get_float("seed", 0)));
  return Generator(std::random_device{}());
}

Result<DType> wanted_dtype(const KernelContext& context, DType otherwise) {
  const int64_t number = context.attributes().get_int("dtype", static_cast<int64_t>(otherwise));
  if (number <= 0 || number >= dtype_count || !is_number(static_cast<DType>(number))) {
    return fail("no random numbers of dtype {}", number);
  }
  return static_cast<DType>(number);
}

// Fills output 0; `draw` is called for each element in order.
template <typename F>
Status fill(KernelContext& context, DType dtype, const Shape& shape, F draw) {
  TensorView y = TRY(context.output(0, dtype, shape));
  WriteAs<double> out(y);
  for (int64_t i = 0; i < out.size(); ++i) out[i] = draw(i);
  return {};
}

Status fill_normal(KernelContext& context, DType dtype, const Shape& shape) {
  Generator generator = make_generator(context.attributes());
  const double mean = context.attributes().get_float("mean", 0);
  const double scale = context.attributes().get_float("scale", 1);
  std::normal_distribution<double> normal;
  return fill(context, dtype, shape, [&](int64_t) { return mean + scale * normal(generator); });
}

Status fill_uniform(KernelContext& context, DType dtype, const Shape& shape) {
  Generator generator = make_generator(context.attributes());
  const double low = context.attributes().get_float("low", 0);
  const double high = context.attributes().get_float("high", 1);
  std::uniform_real_distribution<double> uniform;
  return fill(context, dtype, shape, [&](int64_t) { return low + (high - low) * uniform(generator); });
}

template <Status (*fill_with)(KernelContext&, DType, const Shape&)>
Status run_with_shape(KernelContext& context) {
  return fill_with(context, TRY(wanted_dtype(context, DType::f32)), context.attributes().get_ints("shape"));
}

template <Status (*fill_with)(KernelContext&, DType, const Shape&)>
Status run_like(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  return fill_with(context, TRY(wanted_dtype(context, x.dtype)), x.shape);
}

Status run_bernoulli(KernelContext& context) {
  TRY(require_number(context, 0));
  const ConstTensorView& x = context.input(0);
  Generator generator = make_generator(context.attributes());
  ReadAs<double> probability(x);
  std::uniform_real_distribution<double> uniform;
  return fill(context, TRY(wanted_dtype(context, x.dtype)), x.shape,
              [&](int64_t i) { return uniform(generator) < probability[i] ? 1.0 : 0.0; });
}

// Draws from rows of unnormalized log-probabilities: a class where the running sum passes a uniform number.
Status run_multinomial(KernelContext& context) {
  TRY(require_number(context, 0));
  const ConstTensorView& x = context.input(0);
  if (x.shape.size() != 2 || x.shape[1] < 1)
    return fail("input has shape {}, want batch x classes", print_shape(x.shape));
  const int64_t samples = context.attributes().get_int("sample_size", 1);
  if (samples < 0) return fail("attribute sample_size is {}", samples);
  const int64_t classes = x.shape[1];
  Generator generator = make_generator(context.attributes());
  std::uniform_real_distribution<double> uniform;
  ReadAs<double> in(x);
  return fill(context, TRY(wanted_dtype(context, DType::i32)), {x.shape[0], samples}, [&](int64_t i) {
    const double* row = in.data() + i / samples * classes;
    double largest = row[0];
    for (int64_t c = 1; c < classes; ++c) largest = std::max(largest, row[c]);
    double total = 0;
    for (int64_t c = 0; c < classes; ++c) total += std::exp(row[c] - largest);
    const double drawn = uniform(generator) * total;
    int64_t c = 0;
    for (double sum = 0; c + 1 < classes && drawn >= (sum += std::exp(row[c] - largest));) ++c;
    return static_cast<double>(c);
  });
}

// Returns the ratio. Elements are dropped only since version 12, and only if the input training_mode says so.
Result<double> dropout_ratio(const KernelContext& context) {
  if (context.version() < 12 || !context.has_input(2)) return 0.0;
  TRY(require_dtype(context, 2, 3, DType::boolean));
  if (element_count(context.input(2).shape) != 1) return fail("training_mode is not a scalar");
  if (!ReadAs<bool>(context.input(2))[0]) return 0.0;
  double ratio = 0.5;
  if (context.has_input(1)) {
    TRY(require_number(context, 1));
    if (element_count(context.input(1).shape) != 1) return fail("ratio is not a scalar");
    ratio = ReadAs<double>(context.input(1))[0];
  }
  if (!(ratio >= 0 && ratio < 1)) return fail("ratio is {}, want 0 or more and less than 1", ratio);
  return ratio;
}

Status run_dropout(KernelContext& context) {
  TRY(require_number(context, 0));
  const ConstTensorView& x = context.input(0);
  const double ratio = TRY(dropout_ratio(context));
  Generator generator = make_generator(context.attributes());
  std::uniform_real_distribution<double> uniform;
  std::vector<double> mask(static_cast<size_t>(element_count(x.shape)));
  for (double& kept : mask) kept = ratio == 0 || uniform(generator) >= ratio ? 1 : 0;
  if (context.wants_output(1)) {
    const DType dtype = context.version() < 10 ? x.dtype : DType::boolean;
    write_numbers(mask.data(), TRY(context.output(1, dtype, x.shape)));
  }
  if (!context.wants_output(0)) return {};
  ReadAs<double> in(x);
  return fill(context, x.dtype, x.shape, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    return mask[k] == 0 ? 0 : in[i] / (1 - ratio);
  });
}

}  // namespace

std::span<const KernelEntry> random_kernels() {
  static const KernelEntry entries[] = {
      {"Bernoulli", "", run_bernoulli},
      {"Dropout", "", run_dropout},
      {"Multinomial", "", run_multinomial},
      {"RandomNormal", "", run_with_shape<fill_normal>},
      {"RandomNormalLike", "", run_like<fill_normal>},
      {"RandomUniform", "", run_with_shape<fill_uniform>},
      {"RandomUniformLike", "", run_like<fill_uniform>},
  };
  return entries;
}

}  // namespace intarsia::reference
