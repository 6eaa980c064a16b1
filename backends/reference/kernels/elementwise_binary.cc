// Functions of two or more tensors that broadcast against each other.
#include <cmath>

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/elementwise.h"

namespace intarsia::reference {
namespace {

Result<Shape> broadcast_all(const KernelContext& context) {
  Shape shape;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) return fail("input {} is missing", i);
    shape = TRY(broadcast_shapes(shape, context.input(i).shape));
  }
  return shape;
}

// Computes z[i] = f(x[i], y[i]) with broadcasting.
template <typename In, typename Out, typename F>
void map_pairs(const ConstTensorView& x, const ConstTensorView& y, const TensorView& z, F f) {
  ReadAs<In> a(x);
  ReadAs<In> b(y);
  WriteAs<Out> c(z);
  const std::array strides{broadcast_strides(x.shape, z.shape), broadcast_strides(y.shape, z.shape)};
  for_each_offset(z.shape, strides, [&](int64_t i, const auto& offset) {
    c[i] = static_cast<Out>(f(a[offset[0]], b[offset[1]]));
  });
}

Status check_pair(const KernelContext& context) {
  TRY(require_number(context, 0));
  TRY(require_number(context, 1));
  return require_dtype(context, 1, 2, context.input(0).dtype);
}

template <typename F>
Status binary_number(KernelContext& context, F f) {
  TRY(check_pair(context));
  const ConstTensorView& x = context.input(0);
  const ConstTensorView& y = context.input(1);
  TensorView z = TRY(context.output(0, x.dtype, TRY(broadcast_shapes(x.shape, y.shape))));
  return dispatch_number(x.dtype, [&]<typename T>() -> Status {
    map_pairs<T, T>(x, y, z, f);
    return {};
  });
}

// Computes integers as unsigned, where overflow wraps.
template <typename F>
Status binary_arithmetic(KernelContext& context, F f) {
  return binary_number(context, [f]<typename T>(T x, T y) -> T {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(f(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
    } else {
      return f(x, y);
    }
  });
}

template <typename F>
Status compare(KernelContext& context, F f) {
  TRY(check_pair(context));
  const ConstTensorView& x = context.input(0);
  const ConstTensorView& y = context.input(1);
  TensorView z = TRY(context.output(0, DType::boolean, TRY(broadcast_shapes(x.shape, y.shape))));
  return dispatch_number_or_bool(x.dtype, [&]<typename T>() -> Status {
    map_pairs<T, bool>(x, y, z, f);
    return {};
  });
}

Status equal_strings(KernelContext& context) {
  const ConstTensorView& x = context.input(0);
  const ConstTensorView& y = context.input(1);
  TensorView z = TRY(context.output(0, DType::boolean, TRY(broadcast_shapes(x.shape, y.shape))));
  const std::array strides{broadcast_strides(x.shape, z.shape), broadcast_strides(y.shape, z.shape)};
  for_each_offset(z.shape, strides, [&](int64_t i, const auto& offset) {
    static_cast<bool*>(z.data)[i] = static_cast<const std::string*>(x.data)[offset[0]] ==
                                    static_cast<const std::string*>(y.data)[offset[1]];
  });
  return {};
}

Status run_equal(KernelContext& context) {
  TRY(require_inputs(context, 2));
  TRY(require_dtype(context, 1, 2, context.input(0).dtype));
  if (context.input(0).dtype == DType::string) return equal_strings(context);
  return compare(context, [](auto x, auto y) { return x == y; });
}

template <typename F>
Status logic(KernelContext& context, F f) {
  TRY(require_inputs(context, 2));
  TRY(require_dtype(context, 0, 2, DType::boolean));
  return compare(context, f);
}

// Checks the divisor: an integer divisor of 0 is an error of the data. Integer division truncates.
Status check_divisor(const KernelContext& context) {
  TRY(check_pair(context));
  const ConstTensorView& y = context.input(1);
  if (!is_integer(y.dtype)) return {};
  return dispatch_integer(y.dtype, [&]<typename T>() -> Status {
    for (T value : ReadAs<T>(y)) {
      if (value == T(0)) return fail("division of {} by zero", dtype_name(y.dtype));
    }
    return {};
  });
}

// Divides; the least value divided by -1 wraps to itself.
template <typename T>
T divide(T x, T y) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    if (y == T(-1)) return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(x));
  }
  return static_cast<T>(x / y);
}

Status run_div(KernelContext& context) {
  TRY(check_divisor(context));
  return binary_number(context, [](auto x, auto y) { return divide(x, y); });
}

// Returns the remainder with the sign of the divisor; a zero has it too.
template <typename T>
T floor_mod(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    const T remainder = std::fmod(x, y);
    if (remainder == 0) return std::copysign(T(0), y);
    return (remainder < 0) != (y < 0) ? remainder + y : remainder;
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (y == T(-1)) return 0;
    }
    const T remainder = static_cast<T>(x % y);
    return remainder != 0 && (remainder < 0) != (y < 0) ? static_cast<T>(remainder + y) : remainder;
  }
}

template <typename T>
T truncated_mod(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(x, y);
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (y == T(-1)) return 0;
    }
    return static_cast<T>(x % y);
  }
}

Status run_mod(KernelContext& context) {
  TRY(check_divisor(context));
  if (context.attributes().get_int("fmod", 0) != 0) {
    return binary_number(context, [](auto x, auto y) { return truncated_mod(x, y); });
  }
  return binary_number(context, [](auto x, auto y) { return floor_mod(x, y); });
}

// Raises to an integer power by squaring, wrapping; a negative power of anything but 1 and -1 truncates to 0.
template <typename T>
T integer_power(T base, int64_t exponent) {
  if (exponent < 0) {
    if (base == T(1)) return T(1);
    if constexpr (std::is_signed_v<T>) {
      if (base == T(-1)) return exponent % 2 == 0 ? T(1) : T(-1);
    }
    return T(0);
  }
  uint64_t result = 1;
  auto factor = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

// Base and exponent may differ in dtype; the result has that of the base.
Status run_pow(KernelContext& context) {
  TRY(require_number(context, 0));
  TRY(require_number(context, 1));
  const ConstTensorView& x = context.input(0);
  const ConstTensorView& y = context.input(1);
  TensorView z = TRY(context.output(0, x.dtype, TRY(broadcast_shapes(x.shape, y.shape))));
  const std::array strides{broadcast_strides(x.shape, z.shape), broadcast_strides(y.shape, z.shape)};
  return dispatch_number(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> base(x);
    WriteAs<T> out(z);
    if (std::is_integral_v<T> && !is_float(y.dtype)) {
      ReadAs<int64_t> exponent(y);
      for_each_offset(z.shape, strides, [&](int64_t i, const auto& offset) {
        out[i] = integer_power(base[offset[0]], exponent[offset[1]]);
      });
    } else {
      ReadAs<double> exponent(y);
      for_each_offset(z.shape, strides, [&](int64_t i, const auto& offset) {
        out[i] = convert<T>(std::pow(static_cast<double>(base[offset[0]]), exponent[offset[1]]));
      });
    }
    return {};
  });
}

template <typename F>
Status binary_bits(KernelContext& context, F f) {
  TRY(check_pair(context));
  if (!is_integer(context.input(0).dtype)) return unsupported(context.input(0).dtype);
  return binary_number(context, [f]<typename T>(T x, T y) -> T {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(f(x, y));
    return x;
  });
}

// Shifts; by less than 0, or by the width or more, only the fill bits are left.
template <typename T>
T shift(T x, T y, bool right) {
  constexpr int width = static_cast<int>(sizeof(T)) * 8;
  const bool too_far = y < T(0) || static_cast<uint64_t>(y) >= static_cast<uint64_t>(width);
  if (too_far) return right && x < T(0) ? static_cast<T>(-1) : T(0);
  if (right) return static_cast<T>(x >> y);
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << y);
}

Status run_bit_shift(KernelContext& context) {
  const std::string direction = context.attributes().get_string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return fail("attribute direction is '{}', want LEFT or RIGHT", direction);
  const bool right = direction == "RIGHT";
  return binary_bits(context, [right](auto x, auto y) { return shift(x, y, right); });
}

// The slope broadcasts to x, not the other way around.
Status run_prelu(KernelContext& context) {
  TRY(check_pair(context));
  const Shape& shape = context.input(0).shape;
  if (TRY(broadcast_shapes(shape, context.input(1).shape)) != shape) {
    return fail("slope {} does not broadcast to {}", print_shape(context.input(1).shape), print_shape(shape));
  }
  return binary_number(context,
                       []<typename T>(T x, T slope) -> T { return x < 0 ? wrapping_multiply(x, slope) : x; });
}

Status run_swiglu(KernelContext& context) {
  TRY(check_pair(context));
  TRY(require_shape(context, 1, context.input(0).shape));
  if (!is_float(context.input(0).dtype)) return unsupported(context.input(0).dtype);
  const float alpha = context.attributes().get_float("alpha", 1.0f);
  return binary_number(context, [alpha]<typename T>(T gate, T value) -> T {
    using Wide = std::conditional_t<std::is_same_v<T, float>, float, double>;
    const auto x = static_cast<Wide>(gate);
    return static_cast<T>(x / (1 + std::exp(-Wide(alpha) * x)) * static_cast<Wide>(value));
  });
}

// Combines one or more tensors from left to right; `last(sum, count)` finishes each element.
template <typename F, typename G>
Status fold_inputs(KernelContext& context, F f, G last) {
  TRY(require_number(context, 0));
  const DType dtype = context.input(0).dtype;
  TRY(require_dtype(context, 1, context.input_count(), dtype));
  TensorView y = TRY(context.output(0, dtype, TRY(broadcast_all(context))));
  return dispatch_number(dtype, [&]<typename T>() -> Status {
    WriteAs<T> out(y);
    for (size_t k = 0; k < context.input_count(); ++k) {
      ReadAs<T> in(context.input(k));
      const std::array strides{broadcast_strides(context.input(k).shape, y.shape)};
      for_each_offset(y.shape, strides, [&](int64_t i, const auto& offset) {
        out[i] = k == 0 ? in[offset[0]] : static_cast<T>(f(out[i], in[offset[0]]));
      });
    }
    for (int64_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(last(out[i], context.input_count()));
    return {};
  });
}

template <typename F>
Status fold_inputs(KernelContext& context, F f) {
  return fold_inputs(context, f, [](auto x, size_t) { return x; });
}

// Returns the larger value; NaN if either is, as numpy's maximum and minimum.
template <typename T>
T larger(T x, T y) {
  return x != x || x > y ? x : y;
}
template <typename T>
T smaller(T x, T y) {
  return x != x || x < y ? x : y;
}

Status run_mean(KernelContext& context) {
  TRY(require_inputs(context, 1));
  if (!is_float(context.input(0).dtype)) return unsupported(context.input(0).dtype);
  return fold_inputs(
      context, [](auto x, auto y) { return wrapping_add(x, y); },
      []<typename T>(T sum, size_t count) { return sum / static_cast<T>(count); });
}

}  // namespace

#define INTARSIA_PAIR(op, function, expression) \
  {op, "",                                      \
   [](KernelContext& context) { return function(context, [](auto x, auto y) { return expression; }); }}

std::span<const KernelEntry> binary_kernels() {
  static const KernelEntry entries[] = {
      INTARSIA_PAIR("Add", binary_arithmetic, x + y),
      INTARSIA_PAIR("And", logic, x && y),
      INTARSIA_PAIR("BitwiseAnd", binary_bits, x & y),
      INTARSIA_PAIR("BitwiseOr", binary_bits, x | y),
      INTARSIA_PAIR("BitwiseXor", binary_bits, x ^ y),
      INTARSIA_PAIR("Greater", compare, x > y),
      INTARSIA_PAIR("GreaterOrEqual", compare, x >= y),
      INTARSIA_PAIR("Less", compare, x < y),
      INTARSIA_PAIR("LessOrEqual", compare, x <= y),
      INTARSIA_PAIR("Max", fold_inputs, larger(x, y)),
      INTARSIA_PAIR("Min", fold_inputs, smaller(x, y)),
      INTARSIA_PAIR("Mul", binary_arithmetic, x * y),
      INTARSIA_PAIR("Or", logic, x || y),
      INTARSIA_PAIR("Sub", binary_arithmetic, x - y),
      INTARSIA_PAIR("Sum", fold_inputs, wrapping_add(x, y)),
      INTARSIA_PAIR("Xor", logic, x != y),
      {"BitShift", "", run_bit_shift},
      {"Div", "", run_div},
      {"Equal", "", run_equal},
      {"Mean", "", run_mean},
      {"Mod", "", run_mod},
      {"Pow", "", run_pow},
      {"PRelu", "", run_prelu},
      {"SwiGLU", "", run_swiglu},
  };
  return entries;
}

#undef INTARSIA_PAIR

}  // namespace intarsia::reference
