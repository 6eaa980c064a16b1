// Cast, CastLike, BitCast, Identity.
#include <cctype>
#include <charconv>
#include <cmath>

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/elementwise.h"

namespace intarsia::reference {
namespace {

struct CastOptions {
  bool saturate = true;
  PowerRounding rounding = PowerRounding::up;
};

Result<CastOptions> read_options(const KernelContext& context) {
  CastOptions options;
  options.saturate = context.attributes().get_int("saturate", 1) != 0;
  const std::string mode = context.attributes().get_string("round_mode", "up");
  if (mode == "down") {
    options.rounding = PowerRounding::down;
  } else if (mode == "nearest") {
    options.rounding = PowerRounding::nearest;
  } else if (mode != "up") {
    return fail("attribute round_mode is '{}', want up, down or nearest", mode);
  }
  return options;
}

void cast_to_small_float(const ConstTensorView& x, const TensorView& y, const CastOptions& options) {
  ReadAs<double> in(x);
  for (int64_t i = 0; i < in.size(); ++i) {
    store_bits(y, i,
               y.dtype == DType::f8e8m0 ? encode_e8m0(in[i], options.saturate, options.rounding)
                                        : encode_float(y.dtype, in[i], options.saturate));
  }
}

// Casts floats by way of double and integers by way of 64 bits: double holds every float, but not every large
// integer.
void cast_numbers(const ConstTensorView& x, const TensorView& y, const CastOptions& options) {
  if (is_float(y.dtype) && dtype_bits(y.dtype) <= 8) {
    cast_to_small_float(x, y, options);
  } else if (is_float(x.dtype)) {
    write_numbers(ReadAs<double>(x).data(), y);
  } else if (x.dtype == DType::u64) {
    write_numbers(ReadAs<uint64_t>(x).data(), y);
  } else {
    write_numbers(ReadAs<int64_t>(x).data(), y);
  }
}

std::string trimmed_lower(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (!std::isspace(static_cast<unsigned char>(c)))
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

template <typename T>
Result<T> parse_number(std::string_view text) {
  const std::string word = trimmed_lower(text);
  const size_t start = word.starts_with('+') ? 1 : 0;
  T value{};
  auto [end, error] = std::from_chars(word.data() + start, word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return fail("'{}' is not a number", text);
  return value;
}

template <typename T>
Status cast_strings_as(const ConstTensorView& x, const TensorView& y) {
  WriteAs<T> out(y);
  const auto* in = static_cast<const std::string*>(x.data);
  for (int64_t i = 0; i < out.size(); ++i) {
    // Integers of 64 bits are exact if written as integers, and "100.5" becomes 100.
    Result<T> exact = parse_number<T>(in[i]);
    out[i] = exact ? *exact : convert<T>(TRY(parse_number<double>(in[i])));
  }
  return {};
}

Status cast_from_strings(const ConstTensorView& x, const TensorView& y) {
  if (is_float(y.dtype)) return cast_strings_as<double>(x, y);
  if (y.dtype == DType::u64) return cast_strings_as<uint64_t>(x, y);
  return cast_strings_as<int64_t>(x, y);
}

std::string print_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  return fmt::format("{}", value);
}

Status cast_to_strings(const ConstTensorView& x, const TensorView& y) {
  auto* out = static_cast<std::string*>(y.data);
  return dispatch_number_or_bool(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    for (int64_t i = 0; i < in.size(); ++i) {
      if constexpr (std::is_same_v<T, float>) {
        out[i] = std::isfinite(in[i]) ? fmt::format("{}", in[i]) : print_float(in[i]);
      } else if constexpr (std::is_same_v<T, double>) {
        out[i] = print_float(in[i]);
      } else {
        out[i] = fmt::format("{}", static_cast<std::conditional_t<std::is_same_v<T, bool>, int, T>>(in[i]));
      }
    }
    return {};
  });
}

Status cast_tensor(KernelContext& context, DType to) {
  const ConstTensorView& x = context.input(0);
  const CastOptions options = TRY(read_options(context));
  if (x.dtype != to &&
      ((!is_number(x.dtype) && x.dtype != DType::string) || (!is_number(to) && to != DType::string))) {
    return fail("there is no cast from {} to {}", dtype_name(x.dtype), dtype_name(to));
  }
  TensorView y = TRY(context.output(0, to, x.shape));
  if (x.dtype == to) {
    copy_elements(x, y);
    return {};
  }
  if (x.dtype == DType::string) return cast_from_strings(x, y);
  if (to == DType::string) return cast_to_strings(x, y);
  cast_numbers(x, y, options);
  return {};
}

Result<DType> target_dtype(const KernelContext& context) {
  const int64_t to = context.attributes().get_int("to", 0);
  if (to <= 0 || to >= dtype_count) return fail("attribute to is {}, which is not a dtype", to);
  return static_cast<DType>(to);
}

Status run_cast(KernelContext& context) {
  TRY(require_inputs(context, 1));
  return cast_tensor(context, TRY(target_dtype(context)));
}

Status run_cast_like(KernelContext& context) {
  TRY(require_inputs(context, 2));
  return cast_tensor(context, context.input(1).dtype);
}

Status run_bit_cast(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const DType to = TRY(target_dtype(context));
  if (x.dtype == DType::string || to == DType::string || dtype_bits(x.dtype) != dtype_bits(to)) {
    return fail("{} and {} have different widths", dtype_name(x.dtype), dtype_name(to));
  }
  TensorView y = TRY(context.output(0, to, x.shape));
  copy_elements({x.data, to, x.shape}, y);
  if (!has_legal_booleans(y)) return fail("a byte that is neither 0 nor 1 is not a bool");
  return {};
}

Status run_identity(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  copy_elements(x, TRY(context.output(0, x.dtype, x.shape)));
  return {};
}

}  // namespace

std::span<const KernelEntry> cast_kernels() {
  static const KernelEntry entries[] = {
      {"BitCast", "", run_bit_cast},
      {"Cast", "", run_cast},
      {"CastLike", "", run_cast_like},
      {"Identity", "", run_identity},
  };
  return entries;
}

}  // namespace intarsia::reference
