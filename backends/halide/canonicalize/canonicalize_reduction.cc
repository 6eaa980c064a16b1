// Reductions and operators made of them: Softmax and the normalizations decompose into reductions and
// elementwise operators, which fuse into one kernel again.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "backends/halide/canonicalize/canonicalize_rules.h"

namespace intarsia::halide {
namespace {

using Axes = std::vector<int64_t>;

Axes all_axes(int64_t rank, int64_t first = 0) {
  Axes axes(static_cast<size_t>(std::max<int64_t>(rank - first, 0)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

/// Emits a reduction; the reduced axes stay, with size 1.
ValueId reduce(Rewriter& r, CoreOp op, ValueId x, const Axes& axes, bool skip_nan = false) {
  SymbolicShape sizes = r.sizes(x);
  for (int64_t axis : axes) sizes[static_cast<size_t>(axis)] = 1;
  return r.emit(op, {x}, r.dtype(x), sizes, ReductionAttributes{axes, skip_nan});
}

/// Returns the largest number of each row, skipping NaN: a NaN minus the largest is NaN again. Checking for
/// NaN makes a Softmax slower by a third.
ValueId largest_number(Rewriter& r, ValueId x, const Axes& axes) {
  return reduce(r, CoreOp::reduce_max, x, axes, true);
}

ValueId apply(Rewriter& r, CoreOp op, std::vector<ValueId> inputs) {
  return r.emit_elementwise(op, std::move(inputs));
}

Result<Axes> axes_of(Rewriter& r) {
  int64_t rank = r.rank(r.in(0));
  Axes axes = TRY(r.ints("axes", 1, {}));
  for (int64_t& axis : axes) axis = TRY(r.axis(axis, rank));
  std::ranges::sort(axes);
  if (axes.empty() && !r.attributes().get_int("noop_with_empty_axes", 0)) return all_axes(rank);
  return axes;
}

/// Computes log(sum(exp(x))) relative to the largest number, or to 0 where that is infinite.
ValueId log_sum_exp(Rewriter& r, ValueId x, const Axes& axes) {
  ValueId largest = largest_number(r, x, axes);
  ValueId infinite = r.emit(CoreOp::is_inf, {largest}, DType::boolean, r.sizes(largest));
  ValueId top =
      r.emit(CoreOp::where, {infinite, r.add_scalar(0, r.dtype(x)), largest}, r.dtype(x), r.sizes(largest));
  ValueId sum = reduce(r, CoreOp::reduce_sum, apply(r, CoreOp::exp, {apply(r, CoreOp::sub, {x, top})}), axes);
  return apply(r, CoreOp::add, {apply(r, CoreOp::log, {sum}), top});
}

Status reduce_rule(Rewriter& r) {
  Axes axes = TRY(axes_of(r));
  ValueId x = r.in(0), out;
  const std::string& op = r.node().op;
  bool plain = op == "ReduceSum" || op == "ReduceMax" || op == "ReduceMin" || op == "ReduceProd";
  if (!plain) TRY(require_floats(r));
  const bool is_boolean = r.dtype(x) == DType::boolean;
  if (is_boolean && op != "ReduceMax" && op != "ReduceMin") return fail("{} on bool is not supported", op);
  if (is_boolean) x = r.emit(CoreOp::cast, {x}, DType::u8, r.sizes(x));
  if (op == "ReduceL1")
    out = reduce(r, CoreOp::reduce_sum, apply(r, CoreOp::abs, {x}), axes);
  else if (op == "ReduceL2")
    out = apply(r, CoreOp::sqrt, {reduce(r, CoreOp::reduce_sum, apply(r, CoreOp::mul, {x, x}), axes)});
  else if (op == "ReduceSumSquare")
    out = reduce(r, CoreOp::reduce_sum, apply(r, CoreOp::mul, {x, x}), axes);
  else if (op == "ReduceLogSum")
    out = apply(r, CoreOp::log, {reduce(r, CoreOp::reduce_sum, x, axes)});
  else if (op == "ReduceLogSumExp")
    out = log_sum_exp(r, x, axes);
  else
    out = axes.empty() ? x : reduce(r, *find_core_op(op), x, axes);
  if (is_boolean) out = r.emit(CoreOp::cast, {out}, DType::boolean, r.sizes(out));
  r.set_output(0, r.reshape(out, r.out_sizes()));
  return {};
}

Status arg(Rewriter& r) {
  int64_t axis = TRY(r.axis(r.attributes().get_int("axis", 0), r.rank(r.in(0))));
  SymbolicShape sizes = r.sizes(r.in(0));
  sizes[static_cast<size_t>(axis)] = 1;
  const CoreOp op = r.node().op == "ArgMax" ? CoreOp::arg_max : CoreOp::arg_min;
  const ArgAttributes attributes{{axis}, r.attributes().get_int("select_last_index", 0) != 0};
  r.set_output(0, r.reshape(r.emit(op, {r.in(0)}, DType::i64, sizes, attributes), r.out_sizes()));
  return {};
}

/// Rewrites Softmax and LogSoftmax. Opsets below 13 take all axes from `axis` on as one row.
Status softmax(Rewriter& r) {
  TRY(require_floats(r));
  ValueId x = r.in(0);
  bool old = r.version() < 13;
  int64_t axis = TRY(r.axis(r.attributes().get_int("axis", old ? 1 : -1), std::max<int64_t>(r.rank(x), 1)));
  if (r.rank(x) == 0) return fail("{} of a scalar", r.node().op);
  Axes axes = old ? all_axes(r.rank(x), axis) : Axes{axis};
  ValueId shifted = apply(r, CoreOp::sub, {x, largest_number(r, x, axes)});
  ValueId exp = r.emit_elementwise(CoreOp::exp, {shifted}, ExpAttributes{.nonpositive = true});
  ValueId sum = reduce(r, CoreOp::reduce_sum, exp, axes);
  r.set_output(0, r.node().op == "Softmax" ? apply(r, CoreOp::div, {exp, sum})
                                           : apply(r, CoreOp::sub, {shifted, apply(r, CoreOp::log, {sum})}));
  return {};
}

/// Computes (x - mean) / sqrt(variance + epsilon), or x / sqrt(mean of squares + epsilon) when not centered.
ValueId normalize(Rewriter& r, ValueId x, const Axes& axes, double epsilon, bool centered) {
  if (centered) x = apply(r, CoreOp::sub, {x, reduce(r, CoreOp::reduce_mean, x, axes)});
  ValueId variance = reduce(r, CoreOp::reduce_mean, apply(r, CoreOp::mul, {x, x}), axes);
  ValueId deviation =
      apply(r, CoreOp::sqrt, {apply(r, CoreOp::add, {variance, r.add_scalar(epsilon, r.dtype(x))})});
  return apply(r, CoreOp::mul, {x, apply(r, CoreOp::reciprocal, {deviation})});
}

ValueId scale_and_shift(Rewriter& r, ValueId x, ValueId scale, ValueId shift) {
  x = apply(r, CoreOp::mul, {x, scale});
  return shift == no_value ? x : apply(r, CoreOp::add, {x, shift});
}

Status layer_normalization(Rewriter& r) {
  TRY(require_floats(r));
  if (has_output(r.node(), 1) || has_output(r.node(), 2))
    return fail("{} with mean outputs is not supported", r.node().op);
  ValueId x = r.in(0);
  Axes axes = all_axes(r.rank(x), TRY(r.axis(r.attributes().get_int("axis", -1), r.rank(x))));
  ValueId y =
      normalize(r, x, axes, r.attributes().get_float("epsilon", 1e-5f), r.node().op == "LayerNormalization");
  r.set_output(0, scale_and_shift(r, y, r.in(1), r.has_input(2) ? r.in(2) : no_value));
  return {};
}

Status instance_normalization(Rewriter& r) {
  TRY(require_floats(r));
  ValueId x = r.in(0);
  ValueId y = normalize(r, x, all_axes(r.rank(x), 2), r.attributes().get_float("epsilon", 1e-5f), true);
  r.set_output(
      0, scale_and_shift(r, y, r.channel_vector(r.in(1), r.rank(x)), r.channel_vector(r.in(2), r.rank(x))));
  return {};
}

/// Rewrites GroupNormalization. Scale and shift are per group in opset 18 and per channel from 21 on.
Status group_normalization(Rewriter& r) {
  TRY(require_floats(r));
  ValueId x = r.in(0);
  const SymbolicShape shape = r.sizes(x);
  int64_t groups = r.attributes().get_int("num_groups", 0);
  if (shape.size() < 2 || !shape[1].is_number() || groups < 1 || shape[1].number() % groups)
    return fail("GroupNormalization of {} in {} groups", print_shape(shape), groups);
  SymbolicShape split{shape[0], groups, shape[1].number() / groups};
  split.insert(split.end(), shape.begin() + 2, shape.end());
  ValueId y = normalize(r, r.reshape(x, split), all_axes(static_cast<int64_t>(split.size()), 2),
                        r.attributes().get_float("epsilon", 1e-5f), true);
  Shape vector(split.size() - 1, 1);
  vector[0] = groups, vector[1] = element_count(r.shape(r.in(1))) / groups;
  if (element_count(vector) != element_count(r.shape(r.in(1))))
    return fail("GroupNormalization with a scale of {}", print_shape(r.shape(r.in(1))));
  y = scale_and_shift(r, y, r.reshape(r.in(1), to_symbolic(vector)), r.reshape(r.in(2), to_symbolic(vector)));
  r.set_output(0, r.reshape(y, shape));
  return {};
}

Status mean_variance_normalization(Rewriter& r) {
  TRY(require_floats(r));
  Axes axes = r.attributes().get_ints("axes", {0, 2, 3});
  for (int64_t& axis : axes) axis = TRY(r.axis(axis, r.rank(r.in(0))));
  ValueId x = apply(r, CoreOp::sub, {r.in(0), reduce(r, CoreOp::reduce_mean, r.in(0), axes)});
  ValueId deviation =
      apply(r, CoreOp::sqrt, {reduce(r, CoreOp::reduce_mean, apply(r, CoreOp::mul, {x, x}), axes)});
  r.set_output(
      0, apply(r, CoreOp::div, {x, apply(r, CoreOp::add, {deviation, r.add_scalar(1e-9, r.dtype(x))})}));
  return {};
}

/// Computes scale / sqrt(variance + epsilon) and shift - mean * that at compile time; fails unless the four
/// vectors are constants.
Result<std::pair<ValueId, ValueId>> batch_vectors(Rewriter& r, double epsilon) {
  Tensor scale(DType::f32, r.shape(r.in(1))), shift(DType::f32, r.shape(r.in(1)));
  for (size_t i = 1; i < 5; ++i) {
    const Tensor* tensor = r.constant(r.in(i));
    if (!tensor || tensor->dtype() != DType::f32 || tensor->shape() != scale.shape())
      return fail("BatchNormalization with statistics that are not f32 constants is not supported");
  }
  auto given = [&](size_t i) { return r.constant(r.in(i))->as<float>(); };
  for (size_t c = 0; c < scale.as<float>().size(); ++c) {
    double factor = given(1)[c] / std::sqrt(given(4)[c] + epsilon);
    scale.as<float>()[c] = static_cast<float>(factor);
    shift.as<float>()[c] = static_cast<float>(given(2)[c] - given(3)[c] * factor);
  }
  return std::pair{r.add_constant(scale), r.add_constant(shift)};
}

Status batch_normalization(Rewriter& r) {
  TRY(require_floats(r));
  for (size_t i = 1; i < 5; ++i)
    if (has_output(r.node(), i) || r.attributes().get_int("training_mode", 0))
      return fail("BatchNormalization in training mode is not supported");
  ValueId x = r.in(0);
  auto [scale, shift] = TRY(batch_vectors(r, r.attributes().get_float("epsilon", 1e-5f)));
  r.set_output(0,
               scale_and_shift(r, x, r.channel_vector(scale, r.rank(x)), r.channel_vector(shift, r.rank(x))));
  return {};
}

Status lp_normalization(Rewriter& r) {
  TRY(require_floats(r));
  ValueId x = r.in(0);
  Axes axes{TRY(r.axis(r.attributes().get_int("axis", -1), r.rank(x)))};
  ValueId norm =
      r.attributes().get_int("p", 2) == 1
          ? reduce(r, CoreOp::reduce_sum, apply(r, CoreOp::abs, {x}), axes)
          : apply(r, CoreOp::sqrt, {reduce(r, CoreOp::reduce_sum, apply(r, CoreOp::mul, {x, x}), axes)});
  ValueId zero = r.add_scalar(0, r.dtype(x)),
          empty = r.emit(CoreOp::equal, {norm, zero}, DType::boolean, r.sizes(norm));
  ValueId divisor =
      r.emit(CoreOp::where, {empty, r.add_scalar(1, r.dtype(x)), norm}, r.dtype(x), r.sizes(norm));
  r.set_output(0, apply(r, CoreOp::div, {x, divisor}));
  return {};
}

Status scan(Rewriter& r) {
  std::vector<int64_t> axis = TRY(r.ints("", 1, {0}));
  if (axis.size() != 1) return fail("{} wants one axis, got {}", r.node().op, axis.size());
  const ScanAttributes attributes{TRY(r.axis(axis[0], r.rank(r.in(0)))),
                                  r.attributes().get_int("exclusive", 0) != 0,
                                  r.attributes().get_int("reverse", 0) != 0};
  r.set_output(0, r.emit(*find_core_op(r.node().op), {r.in(0)}, r.out_dtype(), r.out_sizes(), attributes));
  return {};
}

constexpr std::array reduction_rule_list = std::to_array<RuleEntry>({
    {"ReduceSum", reduce_rule},
    {"ReduceMean", reduce_rule},
    {"ReduceMax", reduce_rule},
    {"ReduceMin", reduce_rule},
    {"ReduceProd", reduce_rule},
    {"ReduceL1", reduce_rule},
    {"ReduceL2", reduce_rule},
    {"ReduceSumSquare", reduce_rule},
    {"ReduceLogSum", reduce_rule},
    {"ReduceLogSumExp", reduce_rule},
    {"ArgMax", arg},
    {"ArgMin", arg},
    {"Softmax", softmax},
    {"LogSoftmax", softmax},
    {"LayerNormalization", layer_normalization},
    {"RMSNormalization", layer_normalization},
    {"InstanceNormalization", instance_normalization},
    {"GroupNormalization", group_normalization},
    {"MeanVarianceNormalization", mean_variance_normalization},
    {"BatchNormalization", batch_normalization},
    {"LpNormalization", lp_normalization},
    {"CumSum", scan},
    {"CumProd", scan},
});

}  // namespace

std::span<const RuleEntry> reduction_rules() { return reduction_rule_list; }

}  // namespace intarsia::halide
