#include "backends/halide/build/plain_comparisons.h"

namespace intarsia::halide {
namespace {

using Halide::Expr;
using Halide::Internal::Call;

class PlainComparisons : public Halide::Internal::IRMutator {
  using IRMutator::visit;

  Expr visit(const Call* call) override {
    if (call->args.size() == 1 && call->args[0].type().is_float()) return test(call);
    if (!call->is_intrinsic({Call::strict_eq, Call::strict_lt, Call::strict_le}))
      return IRMutator::visit(call);
    const Expr a = mutate(call->args[0]), b = mutate(call->args[1]);
    if (call->is_intrinsic(Call::strict_eq)) return a == b;
    return call->is_intrinsic(Call::strict_lt) ? a < b : a <= b;
  }

  /// Replaces a test of one number.
  Expr test(const Call* call) {
    const bool nan = call->name.starts_with("is_nan_f"), infinite = call->name.starts_with("is_inf_f");
    if (!nan && !infinite) return IRMutator::visit(call);
    const int bits = call->args[0].type().bits();
    const Halide::Type word = Halide::UInt(bits);
    const Expr infinity = bits == 64 ? Halide::Internal::make_const(word, uint64_t{0x7ff0000000000000})
                                     : Halide::Internal::make_const(word, uint64_t{0x7f800000}),
               sign = Halide::Internal::make_one(word) << (bits - 1);
    const Expr size = Halide::reinterpret(word, mutate(call->args[0])) & (sign - 1);
    return nan ? size > infinity : size == infinity;
  }
};

}  // namespace

void make_comparisons_plain(Halide::Func output) {
  PlainComparisons plain;
  for (auto& [name, function] : Halide::Internal::find_transitive_calls(output.function()))
    function.mutate(&plain);
}

}  // namespace intarsia::halide
