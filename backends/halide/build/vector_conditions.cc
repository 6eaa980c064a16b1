#include "backends/halide/build/vector_conditions.h"

namespace intarsia::halide {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

class VectorConditions : public IRMutator {
  using IRMutator::visit;

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
