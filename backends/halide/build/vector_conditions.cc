#include "backends/halide/build/vector_conditions.h"

namespace intarsia::halide {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

class VectorConditions : public IRMutator {
  using IRMutator::visit;

  Expr visit(const Not* negation) override {
    if (negation->type.is_scalar()) return IRMutator::visit(negation);
    const Expr number = Cast::make(Halide::Int(32, negation->type.lanes()), mutate(negation->a));
    return EQ::make(number, make_zero(number.type()));
  }

  Expr visit(const Call* call) override {
    if (call->type.is_scalar() || !call->is_intrinsic(Call::bitwise_not)) return IRMutator::visit(call);
    const Expr ones =
        make_const(call->type.is_uint() ? call->type.with_code(halide_type_int) : call->type, -1);
    return mutate(call->args[0]) ^ Cast::make(call->type, ones);
  }

  Expr visit(const Select* select) override {
    const auto* broadcast = select->condition.as<Broadcast>();
    const Expr condition = broadcast == nullptr ? select->condition : broadcast->value;
    if (select->type.is_scalar() || condition.type().is_vector()) return IRMutator::visit(select);
    // The code of a broadcast condition is that of a single one; a comparison of vectors has a vector.
    const Expr number = Broadcast::make(Cast::make(Halide::Int(32), mutate(condition)), select->type.lanes());
    return Select::make(NE::make(number, make_zero(number.type())), mutate(select->true_value),
                        mutate(select->false_value));
  }
};

}  // namespace

void make_conditions_vectors(Halide::Pipeline& pipeline) {
  pipeline.add_custom_lowering_pass(new VectorConditions);
}

}  // namespace intarsia::halide
