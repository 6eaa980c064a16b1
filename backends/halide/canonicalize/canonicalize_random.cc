// Random numbers with a seed. Without one they differ in every run, which the reference kernels see to.
#include <array>
#include <bit>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/core/half_floats.h"

namespace intarsia::halide {
namespace {

/// Emits f64 numbers with the output's sizes, of the seed that the node has.
Result<ValueId> draw(Rewriter& r, bool normal) {
  if (!r.attributes().has("seed")) return fail("{} without a seed", r.node().op);
  // A number of 16 bits would be rounded twice.
  if (is_half_float(r.stored_out_dtype()))
    return fail("{} of {}", r.node().op, dtype_name(r.stored_out_dtype()));
  const auto seed = std::bit_cast<uint32_t>(r.attributes().get_float("seed", 0));
  return r.emit(CoreOp::random, {}, DType::f64, r.out_sizes(), RandomAttributes{int64_t{seed}, normal});
}

/// Sets the output to start + scale * numbers.
Status give_scaled(Rewriter& r, ValueId numbers, double start, double scale) {
  const ValueId scaled = r.emit_elementwise(CoreOp::mul, {numbers, r.add_scalar(scale, DType::f64)});
  const ValueId moved = r.emit_elementwise(CoreOp::add, {scaled, r.add_scalar(start, DType::f64)});
  const DType dtype = r.stored_out_dtype();
  r.set_output(0, dtype == DType::f64 ? moved : r.emit(CoreOp::cast, {moved}, dtype, r.out_sizes()));
  return {};
}

Status random_uniform(Rewriter& r) {
  const double low = r.attributes().get_float("low", 0), high = r.attributes().get_float("high", 1);
  return give_scaled(r, TRY(draw(r, false)), low, high - low);
}

Status random_normal(Rewriter& r) {
  return give_scaled(r, TRY(draw(r, true)), r.attributes().get_float("mean", 0),
                     r.attributes().get_float("scale", 1));
}

Status bernoulli(Rewriter& r) {
  const ValueId numbers = TRY(draw(r, false));
  ValueId probability = r.in(0);
  if (r.dtype(probability) != DType::f64)
    probability = r.emit(CoreOp::cast, {probability}, DType::f64, r.sizes(probability));
  const ValueId is_one = r.emit(CoreOp::less, {numbers, probability}, DType::boolean, r.out_sizes());
  r.set_output(0, r.emit(CoreOp::cast, {is_one}, r.stored_out_dtype(), r.out_sizes()));
  return {};
}

constexpr std::array random_rule_list = std::to_array<RuleEntry>({
    {"Bernoulli", bernoulli},
    {"RandomNormal", random_normal},
    {"RandomNormalLike", random_normal},
    {"RandomUniform", random_uniform},
    {"RandomUniformLike", random_uniform},
});

}  // namespace

std::span<const RuleEntry> random_rules() { return random_rule_list; }

}  // namespace intarsia::halide
