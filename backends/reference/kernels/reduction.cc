// Reductions over axes, arg-reductions and cumulative sums and products.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/kernel_families.h"
#include "base/int128.h"

namespace intarsia::reference {
namespace {

// Plan of a reduction: every output element is reduced over the same offsets into the input, from its own
// start.
struct ReductionPlan {
  Shape output_shape;
  Shape kept_shape;    // sizes of the axes that stay
  Shape kept_strides;  // strides of the input along these axes
  Shape reduced_shape;
  Shape reduced_strides;
};

Result<ReductionPlan> plan_reduction(const KernelContext& context) {
  const Shape& shape = context.input(0).shape;
  std::vector<int64_t> axes =
      TRY(resolve_axes(TRY(ints_argument(context, "axes", 1)).value_or(Shape()), shape.size()));
  const bool keepdims = context.attributes().get_int("keepdims", 1) != 0;
  ReductionPlan plan;
  const bool all = axes.empty() && context.attributes().get_int("noop_with_empty_axes", 0) == 0;
  const Shape strides = row_major_strides(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool reduced = all || std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    (reduced ? plan.reduced_shape : plan.kept_shape).push_back(shape[i]);
    (reduced ? plan.reduced_strides : plan.kept_strides).push_back(strides[i]);
    if (!reduced || keepdims) plan.output_shape.push_back(reduced ? 1 : shape[i]);
  }
  return plan;
}

std::vector<int64_t> list_offsets(const Shape& shape, const Shape& strides) {
  std::vector<int64_t> offsets(static_cast<size_t>(element_count(shape)));
  for_each_offset(shape, std::array{strides},
                  [&](int64_t i, const auto& offset) { offsets[static_cast<size_t>(i)] = offset[0]; });
  return offsets;
}

// Type that sums are accumulated in: double for floats, 64 bits with wrap-around for integers.
template <typename T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double,
                                       std::conditional_t<std::is_same_v<T, bool>, bool, uint64_t>>;

// Computes y = f(value, count, T()) for each element; value(k) is the k-th of the `count` elements of x it is
// reduced from.
template <typename Dispatch, typename F>
Status reduce(KernelContext& context, Dispatch dispatch, F f) {
  TRY(require_number(context, 0));
  const ConstTensorView& x = context.input(0);
  const ReductionPlan plan = TRY(plan_reduction(context));
  TensorView y = TRY(context.output(0, x.dtype, plan.output_shape));
  return dispatch(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    WriteAs<T> out(y);
    if (out.size() == 0) return {};
    const std::vector<int64_t> reduced = list_offsets(plan.reduced_shape, plan.reduced_strides);
    for_each_offset(plan.kept_shape, std::array{plan.kept_strides}, [&](int64_t i, const auto& start) {
      auto value = [&](size_t k) -> T { return in[start[0] + reduced[k]]; };
      out[i] = static_cast<T>(f(value, reduced.size(), T()));
    });
    return {};
  });
}

constexpr auto any_number = [](DType dtype, auto&& f) { return dispatch_number(dtype, f); };
constexpr auto number_or_bool = [](DType dtype, auto&& f) { return dispatch_number_or_bool(dtype, f); };

// Sums map(x).
template <typename T, typename Value, typename Map>
Accumulator<T> sum_of(Value value, size_t count, Map map) {
  Accumulator<T> sum{};
  for (size_t k = 0; k < count; ++k)
    sum += static_cast<Accumulator<T>>(map(static_cast<Accumulator<T>>(value(k))));
  return sum;
}

Status run_sum(KernelContext& context) {
  return reduce(context, any_number, [](auto value, size_t count, auto type) {
    return sum_of<decltype(type)>(value, count, [](auto x) { return x; });
  });
}

Status run_sum_square(KernelContext& context) {
  return reduce(context, any_number, [](auto value, size_t count, auto type) {
    return sum_of<decltype(type)>(value, count, [](auto x) { return x * x; });
  });
}

Status run_l1(KernelContext& context) {
  return reduce(context, any_number, [](auto value, size_t count, auto type) {
    using T = decltype(type);
    Accumulator<T> sum{};
    for (size_t k = 0; k < count; ++k) {
      const T x = value(k);
      sum += x < T(0) ? -static_cast<Accumulator<T>>(x) : static_cast<Accumulator<T>>(x);
    }
    return sum;
  });
}

// Sums map(x) in double. Functions of sums that are not integers are computed so, and truncated for integer
// tensors.
template <typename Value>
double double_sum(Value value, size_t count, double (*map)(double)) {
  double sum = 0;
  for (size_t k = 0; k < count; ++k) sum += map(static_cast<double>(value(k)));
  return sum;
}

Status run_l2(KernelContext& context) {
  return reduce(context, any_number, [](auto value, size_t count, auto type) {
    return convert<decltype(type)>(std::sqrt(double_sum(value, count, [](double x) { return x * x; })));
  });
}

Status run_log_sum(KernelContext& context) {
  return reduce(context, any_number, [](auto value, size_t count, auto type) {
    return convert<decltype(type)>(std::log(double_sum(value, count, [](double x) { return x; })));
  });
}

// Exponentials are relative to the largest value, so that they do not overflow.
Status run_log_sum_exp(KernelContext& context) {
  return reduce(context, any_number, [](auto value, size_t count, auto type) {
    double largest = -std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < count; ++k) largest = std::max(largest, static_cast<double>(value(k)));
    const double base = std::isfinite(largest) ? largest : 0;
    double sum = 0;
    for (size_t k = 0; k < count; ++k) sum += std::exp(static_cast<double>(value(k)) - base);
    return convert<decltype(type)>(std::log(sum) + base);
  });
}

Status run_mean(KernelContext& context) {
  return reduce(context, any_number, [](auto value, size_t count, auto type) {
    using T = decltype(type);
    if (count == 0) return std::is_integral_v<T> ? T(0) : static_cast<T>(std::nan(""));
    if constexpr (std::is_integral_v<T>) {
      Int128 sum = 0;
      for (size_t k = 0; k < count; ++k) sum += value(k);
      return static_cast<T>(sum / static_cast<Int128>(count));
    } else {
      return static_cast<T>(sum_of<T>(value, count, [](auto x) { return x; }) / static_cast<double>(count));
    }
  });
}

Status run_prod(KernelContext& context) {
  return reduce(context, any_number, [](auto value, size_t count, auto type) {
    Accumulator<decltype(type)> product = 1;
    for (size_t k = 0; k < count; ++k) product *= static_cast<Accumulator<decltype(type)>>(value(k));
    return product;
  });
}

// Finds the extreme; of no elements it is minus infinity (max) or infinity (min), the extreme value for an
// integer. NaN wins.
template <bool maximum>
Status run_extreme(KernelContext& context) {
  return reduce(context, number_or_bool, [](auto value, size_t count, auto type) {
    using T = decltype(type);
    using Limits = std::numeric_limits<T>;
    T best = Limits::has_infinity ? (maximum ? static_cast<T>(-Limits::infinity()) : Limits::infinity())
                                  : (maximum ? Limits::lowest() : Limits::max());
    for (size_t k = 0; k < count; ++k) {
      const T x = value(k);
      if (x != x) return x;
      if (maximum ? x > best : x < best) best = x;
    }
    return best;
  });
}

template <bool maximum>
Status run_arg_extreme(KernelContext& context) {
  TRY(require_number(context, 0));
  const ConstTensorView& x = context.input(0);
  const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", 0), x.shape.size()));
  const bool keepdims = context.attributes().get_int("keepdims", 1) != 0;
  const bool last = context.attributes().get_int("select_last_index", 0) != 0;
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] = 1;
  if (!keepdims) shape.erase(shape.begin() + axis);
  const AxisSplit split = split_at_axis(x.shape, axis);
  if (split.size == 0 && split.outer * split.inner > 0)
    return fail("axis {} of {} is empty", axis, print_shape(x.shape));
  TensorView y = TRY(context.output(0, DType::i64, shape));
  return dispatch_number(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    std::span<int64_t> out = y.as<int64_t>();
    for (int64_t i = 0; i < split.outer * split.inner; ++i) {
      const int64_t start = i / split.inner * split.size * split.inner + i % split.inner;
      int64_t best = 0;
      for (int64_t k = 1; k < split.size; ++k) {
        const T a = in[start + k * split.inner];
        const T b = in[start + best * split.inner];
        if ((maximum ? a > b : a < b) || (last && a == b)) best = k;
      }
      out[static_cast<size_t>(i)] = best;
    }
    return {};
  });
}

// Computes out[k] = f of in[0] ... in[k] along the axis; exclusive: of those before k; reverse: from the end.
template <typename F>
Status accumulate(KernelContext& context, double identity, F f) {
  TRY(require_number(context, 0));
  TRY(require_inputs(context, 2));
  const ConstTensorView& x = context.input(0);
  const std::vector<int64_t> axes = TRY(context.input_ints(1));
  if (axes.size() != 1) return fail("axis has {} elements, want 1", axes.size());
  const int64_t axis = TRY(resolve_axis(axes[0], x.shape.size()));
  const bool exclusive = context.attributes().get_int("exclusive", 0) != 0;
  const bool reverse = context.attributes().get_int("reverse", 0) != 0;
  const AxisSplit split = split_at_axis(x.shape, axis);
  TensorView y = TRY(context.output(0, x.dtype, x.shape));
  return dispatch_number(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    WriteAs<T> out(y);
    if (in.size() == 0) return {};
    for (int64_t i = 0; i < split.outer * split.inner; ++i) {
      const int64_t start = i / split.inner * split.size * split.inner + i % split.inner;
      auto total = static_cast<Accumulator<T>>(identity);
      for (int64_t k = 0; k < split.size; ++k) {
        const int64_t at = start + (reverse ? split.size - 1 - k : k) * split.inner;
        const auto next = static_cast<Accumulator<T>>(f(total, static_cast<Accumulator<T>>(in[at])));
        out[at] = static_cast<T>(exclusive ? total : next);
        total = next;
      }
    }
    return {};
  });
}

Status run_cum_sum(KernelContext& context) {
  return accumulate(context, 0, [](auto total, auto x) { return total + x; });
}
Status run_cum_prod(KernelContext& context) {
  return accumulate(context, 1, [](auto total, auto x) { return total * x; });
}

}  // namespace

std::span<const KernelEntry> reduction_kernels() {
  static const KernelEntry entries[] = {
      {"ArgMax", "", run_arg_extreme<true>},
      {"ArgMin", "", run_arg_extreme<false>},
      {"CumProd", "", run_cum_prod},
      {"CumSum", "", run_cum_sum},
      {"ReduceL1", "", run_l1},
      {"ReduceL2", "", run_l2},
      {"ReduceLogSum", "", run_log_sum},
      {"ReduceLogSumExp", "", run_log_sum_exp},
      {"ReduceMax", "", run_extreme<true>},
      {"ReduceMean", "", run_mean},
      {"ReduceMin", "", run_extreme<false>},
      {"ReduceProd", "", run_prod},
      {"ReduceSum", "", run_sum},
      {"ReduceSumSquare", "", run_sum_square},
  };
  return entries;
}

}  // namespace intarsia::reference
