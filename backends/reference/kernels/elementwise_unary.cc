// Functions of one tensor: output element i comes from input element i and the attributes.
#include <cmath>
#include <numbers>

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/elementwise.h"

namespace intarsia::reference {
namespace {

struct FloatOnly {
  template <typename F>
  Status operator()(DType dtype, F&& f) const {
    return dispatch_float(dtype, f);
  }
};
struct AnyNumber {
  template <typename F>
  Status operator()(DType dtype, F&& f) const {
    return dispatch_number(dtype, f);
  }
};

template <typename Dispatch, typename F>
Status map_elements(KernelContext& context, Dispatch dispatch, F f) {
  TRY(require_number(context, 0));
  const ConstTensorView& x = context.input(0);
  TensorView y = TRY(context.output(0, x.dtype, x.shape));
  return dispatch(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    WriteAs<T> out(y);
    for (int64_t i = 0; i < in.size(); ++i) out[i] = static_cast<T>(f(in[i]));
    return {};
  });
}

template <typename F>
Status map_float(KernelContext& context, F f) {
  return map_elements(context, FloatOnly(), f);
}
template <typename F>
Status map_number(KernelContext& context, F f) {
  return map_elements(context, AnyNumber(), f);
}

template <typename F>
Status map_float_to_bool(KernelContext& context, F f) {
  TRY(require_number(context, 0));
  const ConstTensorView& x = context.input(0);
  TensorView y = TRY(context.output(0, DType::boolean, x.shape));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    WriteAs<bool> out(y);
    for (int64_t i = 0; i < in.size(); ++i) out[i] = f(in[i]);
    return {};
  });
}

template <typename T>
T sigmoid(T x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

// Computes log(1 + exp(x)) without overflow.
template <typename T>
T softplus(T x) {
  return std::max(x, T(0)) + std::log1p(std::exp(-std::fabs(x)));
}

// Negates in two's complement, even the least value; so |least| = least, as in numpy.
template <typename T>
T negate(T x) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(x));
  return -x;
}

Status run_abs(KernelContext& context) {
  return map_number(context, []<typename T>(T x) -> T {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    return x < T(0) ? negate(x) : x;
  });
}

Status run_sign(KernelContext& context) {
  return map_number(context, []<typename T>(T x) -> T { return x > 0 ? T(1) : x < 0 ? T(-1) : x; });
}

Status run_relu(KernelContext& context) {
  return map_number(context, []<typename T>(T x) -> T { return x < 0 ? T(0) : x; });
}

Status run_elu(KernelContext& context) {
  const float alpha = context.attributes().get_float("alpha", 1.0f);
  return map_float(context, [=](auto x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

Status run_celu(KernelContext& context) {
  const float alpha = context.attributes().get_float("alpha", 1.0f);
  return map_float(context, [=](auto x) { return x < 0 ? alpha * std::expm1(x / alpha) : x; });
}

Status run_selu(KernelContext& context) {
  const float alpha = context.attributes().get_float("alpha", 1.67326319217681884765625f);
  const float gamma = context.attributes().get_float("gamma", 1.05070102214813232421875f);
  return map_float(context, [=](auto x) { return x <= 0 ? gamma * alpha * std::expm1(x) : gamma * x; });
}

Status run_leaky_relu(KernelContext& context) {
  const float alpha = context.attributes().get_float("alpha", 0.01f);
  return map_float(context, [=](auto x) { return x < 0 ? alpha * x : x; });
}

Status run_thresholded_relu(KernelContext& context) {
  const float alpha = context.attributes().get_float("alpha", 1.0f);
  return map_float(context, [=]<typename T>(T x) { return x > alpha ? x : T(0); });
}

// Clamps to 0 ... 1. NaN passes, as in numpy.
template <typename T>
T cut_to_unit(T x) {
  return x < 0 ? T(0) : x > 1 ? T(1) : x;
}

Status run_hard_sigmoid(KernelContext& context) {
  const float alpha = context.attributes().get_float("alpha", 0.2f);
  const float beta = context.attributes().get_float("beta", 0.5f);
  return map_float(context, [=]<typename T>(T x) { return cut_to_unit(T(alpha * x + beta)); });
}

Status run_hard_swish(KernelContext& context) {
  return map_float(context, []<typename T>(T x) { return x * cut_to_unit(T(x / 6 + T(0.5))); });
}

Status run_swish(KernelContext& context) {
  const float alpha = context.attributes().get_float("alpha", 1.0f);
  return map_float(context, [=]<typename T>(T x) { return x * sigmoid(T(alpha * x)); });
}

Status run_gelu(KernelContext& context) {
  const std::string form = context.attributes().get_string("approximate", "none");
  if (form == "none") {
    return map_float(context,
                     []<typename T>(T x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2_v<T>)); });
  }
  if (form != "tanh") return fail("attribute approximate is '{}', want none or tanh", form);
  return map_float(context, []<typename T>(T x) {
    const T scale = std::sqrt(2 / std::numbers::pi_v<T>);
    return x / 2 * (1 + std::tanh(scale * (x + T(0.044715) * x * x * x)));
  });
}

Status run_shrink(KernelContext& context) {
  const float bias = context.attributes().get_float("bias", 0.0f);
  const float lambd = context.attributes().get_float("lambd", 0.5f);
  return map_number(context, [=]<typename T>(T x) -> T {
    // Integers, too, are shrunk by float parameters.
    using Wide = std::conditional_t<std::is_same_v<T, float>, float, double>;
    const auto wide = static_cast<Wide>(x);
    return convert<T>(wide < -lambd ? wide + bias : wide > lambd ? wide - bias : Wide(0));
  });
}

Status run_is_inf(KernelContext& context) {
  const bool negative = context.attributes().get_int("detect_negative", 1) != 0;
  const bool positive = context.attributes().get_int("detect_positive", 1) != 0;
  return map_float_to_bool(context, [=](auto x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

Status run_not(KernelContext& context) {
  TRY(require_inputs(context, 1));
  TRY(require_dtype(context, 0, 1, DType::boolean));
  TensorView y = TRY(context.output(0, DType::boolean, context.input(0).shape));
  ReadAs<bool> in(context.input(0));
  WriteAs<bool> out(y);
  for (int64_t i = 0; i < in.size(); ++i) out[i] = !in[i];
  return {};
}

Status run_bitwise_not(KernelContext& context) {
  TRY(require_number(context, 0));
  if (!is_integer(context.input(0).dtype)) return unsupported(context.input(0).dtype);
  return map_number(context, []<typename T>(T x) -> T {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(~x);
    return x;
  });
}

}  // namespace

#define INTARSIA_FLOAT_FUNCTION(op, expression) \
  {op, "",                                      \
   [](KernelContext& context) { return map_float(context, []<typename T>(T x) { return expression; }); }}

std::span<const KernelEntry> unary_kernels() {
  static const KernelEntry entries[] = {
      INTARSIA_FLOAT_FUNCTION("Acos", std::acos(x)),
      INTARSIA_FLOAT_FUNCTION("Acosh", std::acosh(x)),
      INTARSIA_FLOAT_FUNCTION("Asin", std::asin(x)),
      INTARSIA_FLOAT_FUNCTION("Asinh", std::asinh(x)),
      INTARSIA_FLOAT_FUNCTION("Atan", std::atan(x)),
      INTARSIA_FLOAT_FUNCTION("Atanh", std::atanh(x)),
      INTARSIA_FLOAT_FUNCTION("Ceil", std::ceil(x)),
      INTARSIA_FLOAT_FUNCTION("Cos", std::cos(x)),
      INTARSIA_FLOAT_FUNCTION("Cosh", std::cosh(x)),
      INTARSIA_FLOAT_FUNCTION("Erf", std::erf(x)),
      INTARSIA_FLOAT_FUNCTION("Exp", std::exp(x)),
      INTARSIA_FLOAT_FUNCTION("Floor", std::floor(x)),
      INTARSIA_FLOAT_FUNCTION("Log", std::log(x)),
      INTARSIA_FLOAT_FUNCTION("Mish", x * std::tanh(softplus(x))),
      INTARSIA_FLOAT_FUNCTION("Reciprocal", 1 / x),
      INTARSIA_FLOAT_FUNCTION("Round", std::nearbyint(x)),
      INTARSIA_FLOAT_FUNCTION("Sigmoid", sigmoid(x)),
      INTARSIA_FLOAT_FUNCTION("Sin", std::sin(x)),
      INTARSIA_FLOAT_FUNCTION("Sinh", std::sinh(x)),
      INTARSIA_FLOAT_FUNCTION("Softplus", softplus(x)),
      INTARSIA_FLOAT_FUNCTION("Softsign", x / (1 + std::fabs(x))),
      INTARSIA_FLOAT_FUNCTION("Sqrt", std::sqrt(x)),
      INTARSIA_FLOAT_FUNCTION("Tan", std::tan(x)),
      INTARSIA_FLOAT_FUNCTION("Tanh", std::tanh(x)),
      {"Abs", "", run_abs},
      {"BitwiseNot", "", run_bitwise_not},
      {"Celu", "", run_celu},
      {"Elu", "", run_elu},
      {"Gelu", "", run_gelu},
      {"HardSigmoid", "", run_hard_sigmoid},
      {"HardSwish", "", run_hard_swish},
      {"IsInf", "", run_is_inf},
      {"IsNaN", "",
       [](KernelContext& context) {
         return map_float_to_bool(context, [](auto x) { return std::isnan(x); });
       }},
      {"LeakyRelu", "", run_leaky_relu},
      {"Neg", "",
       [](KernelContext& context) { return map_number(context, [](auto x) { return negate(x); }); }},
      {"Not", "", run_not},
      {"Relu", "", run_relu},
      {"Selu", "", run_selu},
      {"Shrink", "", run_shrink},
      {"Sign", "", run_sign},
      {"Swish", "", run_swish},
      {"ThresholdedRelu", "", run_thresholded_relu},
  };
  return entries;
}

#undef INTARSIA_FLOAT_FUNCTION

}  // namespace intarsia::reference
