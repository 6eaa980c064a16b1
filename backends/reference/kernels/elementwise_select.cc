// Clip and Where.
#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/elementwise.h"

namespace intarsia::reference {
namespace {

// Reads a limit: an attribute before version 11, then a scalar input of the dtype of x.
template <typename T>
Result<std::optional<T>> read_limit(const KernelContext& context, size_t input, std::string_view name) {
  std::optional<T> limit;
  if (context.has_input(input)) {
    const ConstTensorView& view = context.input(input);
    if (element_count(view.shape) != 1)
      return fail("input {} has shape {}, want a scalar", input, print_shape(view.shape));
    limit = ReadAs<T>(view)[0];
  } else if (context.attributes().has(name)) {
    limit = convert<T>(context.attributes().get_float(name, 0));
  }
  return limit;
}

Status run_clip(KernelContext& context) {
  TRY(require_number(context, 0));
  const ConstTensorView& x = context.input(0);
  TRY(require_dtype(context, 1, 3, x.dtype));
  TensorView y = TRY(context.output(0, x.dtype, x.shape));
  return dispatch_number(x.dtype, [&]<typename T>() -> Status {
    const std::optional<T> least = TRY(read_limit<T>(context, 1, "min"));
    const std::optional<T> most = TRY(read_limit<T>(context, 2, "max"));
    ReadAs<T> in(x);
    WriteAs<T> out(y);
    for (int64_t i = 0; i < in.size(); ++i) {
      T value = in[i];
      if (least && value < *least) value = *least;
      if (most && value > *most) value = *most;
      out[i] = value;
    }
    return {};
  });
}

Status run_where(KernelContext& context) {
  TRY(require_inputs(context, 3));
  TRY(require_dtype(context, 0, 1, DType::boolean));
  const ConstTensorView& condition = context.input(0);
  const ConstTensorView& x = context.input(1);
  const ConstTensorView& y = context.input(2);
  TRY(require_dtype(context, 2, 3, x.dtype));
  const Shape shape = TRY(broadcast_shapes(condition.shape, TRY(broadcast_shapes(x.shape, y.shape))));
  TensorView z = TRY(context.output(0, x.dtype, shape));
  const std::array strides{broadcast_strides(condition.shape, shape), broadcast_strides(x.shape, shape),
                           broadcast_strides(y.shape, shape)};
  return dispatch_element(x.dtype, [&]<typename T>() -> Status {
    ReadAs<bool> chosen(condition);
    ReadElements<T> a(x);
    ReadElements<T> b(y);
    WriteElements<T> out(z);
    for_each_offset(shape, strides, [&](int64_t i, const auto& offset) {
      out[i] = chosen[offset[0]] ? a[offset[1]] : b[offset[2]];
    });
    return {};
  });
}

}  // namespace

std::span<const KernelEntry> select_kernels() {
  static const KernelEntry entries[] = {
      {"Clip", "", run_clip},
      {"Where", "", run_where},
  };
  return entries;
}

}  // namespace intarsia::reference
