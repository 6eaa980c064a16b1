// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear; products and convolutions are in
// quantization_*.cc.
#include "backends/reference/kernels/quantization.h"

#include <algorithm>
#include <cmath>

#include "backends/reference/kernels/kernel_families.h"

namespace intarsia::reference {
namespace {

bool is_signed(DType dtype) {
  return dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64 ||
         dtype == DType::i4 || dtype == DType::i2;
}

// Mapping from an element of x to its element of the scale: one for all, one for each index of an axis, or
// one for each block of `block` indices of an axis.
struct Granularity {
  AxisSplit x;
  int64_t scales = 1;  // scales along the axis
  int64_t block = 1;
  bool single = false;
  bool blocked = false;

  int64_t scale_index(int64_t i) const {
    if (single) return 0;
    const int64_t k = i / x.inner % x.size;
    if (!blocked) return k;
    return (i / x.inner / x.size * scales + k / block) * x.inner + i % x.inner;
  }
};

Result<Granularity> read_granularity(const KernelContext& context) {
  const Shape& shape = context.input(0).shape;
  const Shape& scale = context.input(1).shape;
  Granularity granularity;
  const int64_t block = context.attributes().get_int("block_size", 0);
  granularity.single = scale.empty() || (scale.size() == 1 && scale[0] == 1 && block == 0);
  const bool single_zero =
      granularity.single && context.has_input(2) && element_count(context.input(2).shape) == 1;
  if (context.has_input(2) && !single_zero) TRY(require_shape(context, 2, scale));
  if (granularity.single) return granularity;
  const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", 1), shape.size()));
  granularity.x = split_at_axis(shape, axis);
  if (block == 0 && scale.size() == 1) {
    TRY(require_shape(context, 1, {granularity.x.size}));
    return granularity;
  }
  if (block <= 0)
    return fail("attribute block_size is {} for a scale of shape {}", block, print_shape(scale));
  granularity.blocked = true;
  granularity.block = block;
  granularity.scales = granularity.x.size / block + (granularity.x.size % block != 0);
  Shape want = shape;
  want[static_cast<size_t>(axis)] = granularity.scales;
  TRY(require_shape(context, 1, want));
  return granularity;
}

Result<DType> quantized_dtype(const KernelContext& context) {
  const int64_t given = context.attributes().get_int("output_dtype", 0);
  if (given < 0 || given >= dtype_count)
    return fail("attribute output_dtype is {}, which is not a dtype", given);
  if (!context.has_input(2)) return given == 0 ? DType::u8 : static_cast<DType>(given);
  const DType dtype = context.input(2).dtype;
  if (given != 0 && static_cast<DType>(given) != dtype) {
    return fail("output_dtype is {}, the zero point {}", dtype_name(static_cast<DType>(given)),
                dtype_name(dtype));
  }
  return dtype;
}

// Returns the quotient rounded to the precision that the operator asks for.
double divide_in(DType precision, double x, double scale) {
  if (precision == DType::f64) return x / scale;
  if (precision == DType::f16 || precision == DType::bf16) {
    auto round = [&](double value) {
      return static_cast<double>(decode_float(precision, encode_float(precision, value)));
    };
    return round(round(x) / round(scale));
  }
  return static_cast<double>(static_cast<float>(x) / static_cast<float>(scale));
}

Status run_quantize_linear(KernelContext& context) {
  TRY(require_number(context, 0));
  TRY(require_number(context, 1));
  const ConstTensorView& x = context.input(0);
  const DType dtype = TRY(quantized_dtype(context));
  TRY(require_quantized(dtype));
  const Granularity granularity = TRY(read_granularity(context));
  const int64_t precision = context.attributes().get_int("precision", 0);
  const DType divide =
      precision > 0 && precision < dtype_count ? static_cast<DType>(precision) : context.input(1).dtype;
  const bool saturate = context.attributes().get_int("saturate", 1) != 0;
  TensorView y = TRY(context.output(0, dtype, x.shape));
  ReadAs<double> in(x);
  ReadAs<double> scale(context.input(1));
  ReadAs<double> zero(context.input(context.has_input(2) ? 2 : 1));
  for (int64_t i = 0; i < in.size(); ++i) {
    const int64_t k = granularity.scale_index(i);
    const double value = divide_in(divide, in[i], scale[k]);
    store_quantized(y, i, quantize(value, context.has_input(2) ? zero[k] : 0, dtype), saturate);
  }
  return {};
}

Status run_dequantize_linear(KernelContext& context) {
  TRY(require_number(context, 0));
  TRY(require_number(context, 1));
  const ConstTensorView& x = context.input(0);
  TRY(require_dtype(context, 2, 3, x.dtype));
  const Granularity granularity = TRY(read_granularity(context));
  const int64_t given = context.attributes().get_int("output_dtype", 0);
  if (given < 0 || given >= dtype_count)
    return fail("attribute output_dtype is {}, which is not a dtype", given);
  const DType dtype = given == 0 ? context.input(1).dtype : static_cast<DType>(given);
  if (!is_float(dtype)) return unsupported(dtype);
  TensorView y = TRY(context.output(0, dtype, x.shape));
  ReadAs<double> in(x);
  ReadAs<double> scale(context.input(1));
  ReadAs<double> zero(context.input(context.has_input(2) ? 2 : 1));
  WriteAs<double> out(y);
  for (int64_t i = 0; i < in.size(); ++i) {
    const int64_t k = granularity.scale_index(i);
    out[i] = (in[i] - (context.has_input(2) ? zero[k] : 0)) * scale[k];
  }
  return {};
}

// Quantizes in a range that is widened to hold 0, so that 0 is exact.
Status run_dynamic_quantize_linear(KernelContext& context) {
  TRY(require_inputs(context, 1));
  TRY(require_dtype(context, 0, 1, DType::f32));
  const ConstTensorView& x = context.input(0);
  ReadAs<float> in(x);
  float least = 0;
  float most = 0;
  for (float value : in) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  const float scale = (most - least) / 255;
  const double zero = scale == 0 ? 0 : quantize(-static_cast<double>(least / scale), 0, DType::u8);
  if (context.wants_output(0)) {
    TensorView y = TRY(context.output(0, DType::u8, x.shape));
    for (int64_t i = 0; i < in.size(); ++i) {
      store_quantized(y, i, quantize(scale == 0 ? 0 : static_cast<double>(in[i] / scale), zero, DType::u8),
                      true);
    }
  }
  if (context.wants_output(1)) TRY(context.output(1, DType::f32, {})).as<float>()[0] = scale;
  if (context.wants_output(2))
    TRY(context.output(2, DType::u8, {})).as<uint8_t>()[0] = static_cast<uint8_t>(zero);
  return {};
}

}  // namespace

Status require_quantized(DType dtype) {
  return (is_integer(dtype) || is_float(dtype)) && dtype_bits(dtype) <= 32 ? Status() : unsupported(dtype);
}

double quantize(double value, double zero_point, DType dtype) {
  if (!is_integer(dtype)) return value + zero_point;
  const int bits = dtype_bits(dtype);
  const double least = is_signed(dtype) ? -std::ldexp(1.0, bits - 1) : 0;
  const double most = std::ldexp(1.0, is_signed(dtype) ? bits - 1 : bits) - 1;
  if (std::isnan(value)) return std::clamp(zero_point, least, most);
  return std::clamp(std::nearbyint(value) + zero_point, least, most);
}

void store_quantized(const TensorView& y, int64_t i, double value, bool saturate) {
  if (is_float(y.dtype) && dtype_bits(y.dtype) <= 16) {
    store_bits(y, i, encode_float(y.dtype, value, saturate));
  } else if (dtype_bits(y.dtype) <= 16) {
    store_bits(y, i, static_cast<uint32_t>(static_cast<int64_t>(value)));
  } else if (y.dtype == DType::f32) {
    static_cast<float*>(y.data)[i] = static_cast<float>(value);
  } else {
    static_cast<uint32_t*>(y.data)[i] = static_cast<uint32_t>(static_cast<int64_t>(value));
  }
}

std::span<const KernelEntry> quantization_kernels() {
  static const std::vector<KernelEntry> all = [] {
    std::vector<KernelEntry> entries = {
        {"DequantizeLinear", "", run_dequantize_linear},
        {"DynamicQuantizeLinear", "", run_dynamic_quantize_linear},
        {"QuantizeLinear", "", run_quantize_linear},
    };
    for (auto part : {quantized_product_kernels, quantized_convolution_kernels}) {
      entries.insert(entries.end(), part().begin(), part().end());
    }
    return entries;
  }();
  return all;
}

}  // namespace intarsia::reference
