#include "backends/halide/build/plain_comparisons.h"

namespace intarsia::halide {
namespace {

using Halide::Expr;
using Halide::Internal::Call;

class PlainComparisons : public Halide::Internal::IRMutator {
  using IRMutator::visit;

  Expr visit(const Call* call) override {
    if (call->args.size() == 1 && call->args[0].type() == Halide::Float(32)) return test(call);
    if (!call->is_intrinsic({Call::strict_eq, Call::strict_lt, Call::strict_le}))
      return IRMutator::visit(call);
    const Expr a = mutate(call->args[0]), b = mutate(call->args[1]);
    if (call->is_intrinsic(Call::strict_eq)) return a == b;
    return call->is_intrinsic(Call::strict_lt) ? a < b : a <= b;
  }

  /// Of one f32.
  Expr test(const Call* call) {
    const bool nan = call->name == "is_nan_f32", infinite = call->name == "is_inf_f32";
    if (!nan && !infinite) return IRMutator::visit(call);
    const auto word = [](uint32_t bits) { return Halide::Internal::make_const(Halide::UInt(32), bits); };
    const Expr infinity = word(0x7f800000), size_mask = word(0x7fffffff);
    const Expr bits = Halide::reinterpret<uint32_t>(mutate(call->args[0])) & size_mask;
    return nan ? bits > infinity : bits == infinity;
  }
};

}  // namespace

void make_comparisons_plain(Halide::Func output) {
  PlainComparisons plain;
  for (auto& [name, function] : Halide::Internal::find_transitive_calls(output.function()))
    function.mutate(&plain);
}

}  // namespace intarsia::halide
