#include <algorithm>
#include <cmath>

#include "backends/reference/kernels/move.h"
#include "backends/reference/kernels/movement.h"
#include "base/int128.h"

namespace intarsia::reference {
namespace {

template <typename T>
Status put_values(KernelContext& context, DType dtype, const std::vector<T>& values, const Shape& shape) {
  const TensorView y = TRY(context.output(0, dtype, shape));
  std::ranges::copy(values, y.as<T>().begin());
  return {};
}

/// Counts the elements of start, start + delta, ... before limit.
template <typename T>
Result<int64_t> range_count(T start, T limit, T delta) {
  if (delta == T(0)) return fail("delta is 0");
  constexpr int64_t most = int64_t{1} << 48;
  if constexpr (std::is_floating_point_v<T>) {
    const double count = std::ceil((static_cast<double>(limit) - start) / delta);
    if (!(count < static_cast<double>(most))) return fail("range from {} to {} by {}", start, limit, delta);
    return std::max<int64_t>(0, static_cast<int64_t>(std::max(count, 0.0)));
  } else {
    const Int128 step = delta;
    const Int128 length = static_cast<Int128>(limit) - start;
    const Int128 count = (length + step + (step > 0 ? -1 : 1)) / step;
    if ((length > 0) != (step > 0) || length == 0) return 0;
    if (count > most) return fail("range from {} to {} by {} is too long", start, limit, delta);
    return static_cast<int64_t>(count);
  }
}

}  // namespace

Status constant(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  if (const Tensor* value = attributes.get_tensor("value")) {
    copy_elements(value->view(), TRY(context.output(0, value->dtype(), value->shape())));
    return {};
  }
  const auto length = [](const auto& list) { return Shape{static_cast<int64_t>(list.size())}; };
  if (attributes.has("value_float")) {
    return put_values<float>(context, DType::f32, {attributes.get_float("value_float", 0)}, {});
  }
  if (attributes.has("value_int")) {
    return put_values<int64_t>(context, DType::i64, {attributes.get_int("value_int", 0)}, {});
  }
  if (attributes.has("value_string")) {
    return put_values<std::string>(context, DType::string, {attributes.get_string("value_string", "")}, {});
  }
  if (attributes.has("value_floats")) {
    const std::vector<float> values = attributes.get_floats("value_floats");
    return put_values(context, DType::f32, values, length(values));
  }
  if (attributes.has("value_ints")) {
    const std::vector<int64_t> values = attributes.get_ints("value_ints");
    return put_values(context, DType::i64, values, length(values));
  }
  if (attributes.has("value_strings")) {
    const std::vector<std::string> values = attributes.get_strings("value_strings");
    return put_values(context, DType::string, values, length(values));
  }
  return fail("no value attribute of a kind that is supported");
}

Status constant_of_shape(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const Shape shape = TRY(context.input_ints(0));
  TRY(checked_elements(shape));
  const Tensor zero(DType::f32, {1});
  const Tensor* given = context.attributes().get_tensor("value");
  const TensorView& value = given != nullptr ? given->view() : zero.view();
  if (element_count(value.shape) != 1)
    return fail("value has shape {}, want one element", print_shape(value.shape));
  return copy_strided(value, 0, Shape(shape.size(), 0), TRY(context.output(0, value.dtype, shape)));
}

Status range(KernelContext& context) {
  TRY(require_inputs(context, 3));
  const DType dtype = context.input(0).dtype;
  for (size_t i = 0; i < 3; ++i) {
    const ConstTensorView& x = context.input(i);
    if (x.dtype != dtype || element_count(x.shape) != 1) {
      return fail("input {} is {} {}, want a scalar {}", i, dtype_name(x.dtype), print_shape(x.shape),
                  dtype_name(dtype));
    }
  }
  return dispatch_number(dtype, [&]<typename T>() -> Status {
    const T start = ReadAs<T>(context.input(0))[0];
    const T limit = ReadAs<T>(context.input(1))[0];
    const T delta = ReadAs<T>(context.input(2))[0];
    const int64_t count = TRY(range_count(start, limit, delta));
    WriteAs<T> out(TRY(context.output(0, dtype, {count})));
    if constexpr (std::is_floating_point_v<T>) {
      for (int64_t i = 0; i < count; ++i) out[i] = start + static_cast<T>(i) * delta;
    } else {
      // Unsigned arithmetic: the last term's successor may overflow the type, and products of small types
      // become int.
      for (int64_t i = 0; i < count; ++i) {
        out[i] = static_cast<T>(static_cast<uint64_t>(start) +
                                static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
      }
    }
    return {};
  });
}

Status eye_like(KernelContext& context) {
  TRY(require_inputs(context, 1));
  TRY(require_rank(context, 0, 2));
  const ConstTensorView& x = context.input(0);
  const int64_t number = context.attributes().get_int("dtype", static_cast<int64_t>(x.dtype));
  if (number < 1 || number >= dtype_count) return fail("dtype {} is none", number);
  const int64_t diagonal = context.attributes().get_int("k", 0);
  const TensorView y = TRY(context.output(0, static_cast<DType>(number), x.shape));
  return dispatch_number_or_bool(y.dtype, [&]<typename T>() -> Status {
    WriteAs<T> out(y);
    std::fill(out.begin(), out.end(), T(0));
    const int64_t columns = x.shape[1];
    for (int64_t row = 0; row < x.shape[0]; ++row) {
      int64_t column = 0;
      if (__builtin_add_overflow(row, diagonal, &column)) break;
      if (column >= 0 && column < columns) out[row * columns + column] = T(1);
    }
    return {};
  });
}

Status trilu(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const size_t rank = x.shape.size();
  if (rank < 2) return fail("input 0 has shape {}, want rank 2 or more", print_shape(x.shape));
  const bool upper = context.attributes().get_int("upper", 1) != 0;
  const int64_t rows = x.shape[rank - 2];
  const int64_t columns = x.shape[rank - 1];
  int64_t diagonal = context.has_input(1) ? TRY(input_int(context, 1)) : 0;
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  const TensorView y = TRY(context.output(0, x.dtype, x.shape));
  return dispatch_element(x.dtype, [&]<typename T>() -> Status {
    const ReadElements<T> in(x);
    WriteElements<T> out(y);
    for (int64_t i = 0; i < in.size(); ++i) {
      const int64_t row = i / columns % rows;
      const int64_t distance = i % columns - row - diagonal;
      out[i] = (upper ? distance >= 0 : distance <= 0) ? in[i] : T{};
    }
    return {};
  });
}

}  // namespace intarsia::reference
