// Softmax, LogSoftmax, Hardmax.
#include <cmath>

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/normalization.h"

namespace intarsia::reference {
namespace {

// Splits the shape. Before version 13 the tensor is seen as a matrix, split before `axis` (default 1), and
// its rows are normalized; since then only the one axis (default -1).
Result<AxisSplit> softmax_split(const KernelContext& context) {
  const Shape& shape = context.input(0).shape;
  const bool matrix = context.version() < 13;
  if (shape.empty()) return AxisSplit{};
  const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", matrix ? 1 : -1), shape.size()));
  AxisSplit split = split_at_axis(shape, axis);
  if (matrix) split = {split.outer, split.size * split.inner, 1};
  return split;
}

// Calls f(in, out, count) for each row; `in` and `out` are functions k -> element.
template <typename F>
Status map_rows(KernelContext& context, F f) {
  TRY(require_number(context, 0));
  const ConstTensorView& x = context.input(0);
  const AxisSplit split = TRY(softmax_split(context));
  TensorView y = TRY(context.output(0, x.dtype, x.shape));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    WriteAs<T> out(y);
    if (split.size == 0) return {};
    for (int64_t i = 0; i < split.outer * split.inner; ++i) {
      const int64_t start = i / split.inner * split.size * split.inner + i % split.inner;
      f([&](int64_t k) -> T { return in[start + k * split.inner]; },
        [&](int64_t k) -> T& { return out[start + k * split.inner]; }, split.size);
    }
    return {};
  });
}

template <typename In>
double largest_of(In in, int64_t count) {
  double largest = static_cast<double>(in(0));
  for (int64_t k = 1; k < count; ++k) largest = std::max(largest, static_cast<double>(in(k)));
  return largest;
}

template <typename In>
double sum_of_exponentials(In in, int64_t count, double largest) {
  double sum = 0;
  for (int64_t k = 0; k < count; ++k) sum += std::exp(static_cast<double>(in(k)) - largest);
  return sum;
}

Status run_softmax(KernelContext& context) {
  return map_rows(context, [](auto in, auto out, int64_t count) {
    using T = std::remove_reference_t<decltype(out(0))>;
    const double largest = largest_of(in, count);
    const double sum = sum_of_exponentials(in, count, largest);
    for (int64_t k = 0; k < count; ++k) out(k) = static_cast<T>(std::exp(in(k)-largest) / sum);
  });
}

Status run_log_softmax(KernelContext& context) {
  return map_rows(context, [](auto in, auto out, int64_t count) {
    using T = std::remove_reference_t<decltype(out(0))>;
    const double largest = largest_of(in, count);
    const double log_sum = std::log(sum_of_exponentials(in, count, largest));
    for (int64_t k = 0; k < count; ++k) out(k) = static_cast<T>(in(k)-largest - log_sum);
  });
}

// Writes 1 at the first of the largest, 0 elsewhere.
Status run_hardmax(KernelContext& context) {
  return map_rows(context, [](auto in, auto out, int64_t count) {
    int64_t best = 0;
    for (int64_t k = 0; k < count; ++k) {
      if (in(k) > in(best)) best = k;
    }
    for (int64_t k = 0; k < count; ++k) out(k) = k == best ? 1 : 0;
  });
}

}  // namespace

std::span<const KernelEntry> softmax_kernels() {
  static const KernelEntry entries[] = {
      {"Hardmax", "", run_hardmax},
      {"LogSoftmax", "", run_log_softmax},
      {"Softmax", "", run_softmax},
  };
  return entries;
}

}  // namespace intarsia::reference
