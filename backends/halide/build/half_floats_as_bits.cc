#include "backends/halide/build/half_floats_as_bits.h"

namespace intarsia::halide {
namespace {

using namespace Halide::Internal;
using Halide::Expr;
using Halide::Float;
using Halide::reinterpret;
using Halide::select;
using Halide::Type;
using Halide::UInt;
using Intrinsic = Halide::Internal::Call;

bool is_half(Type type) { return (type.is_float() || type.is_bfloat()) && type.bits() == 16; }

/// Returns the type in which a value is held.
Type held(Type type) { return is_half(type) ? UInt(16, type.lanes()) : type; }

Expr word(const Expr& like, uint32_t number) { return make_const(UInt(32, like.type().lanes()), number); }
Expr real(const Expr& like, double number) { return make_const(Float(32, like.type().lanes()), number); }

Expr cast_to(Type scalar, const Expr& x) { return Cast::make(scalar.with_lanes(x.type().lanes()), x); }
Expr as_bits(const Expr& x) { return reinterpret(UInt(32, x.type().lanes()), x); }
Expr from_bits(const Expr& bits) { return reinterpret(Float(32, bits.type().lanes()), bits); }

/// Widens the bits of a finite f16. Those without an exponent are multiples of 2^-24.
Expr number_of_f16(const Expr& bits) {
  const Expr all = cast_to(UInt(32), bits), size = all & word(bits, 0x7fff);
  const Expr normal = from_bits((size << word(bits, 13)) + word(bits, 112 << 23));
  const Expr small = cast_to(Float(32), size) * real(bits, 0x1p-24);
  const Expr positive = select(size < word(bits, 0x400), small, normal);
  return from_bits(as_bits(positive) | (all & word(bits, 0x8000)) << word(bits, 16));
}

/// Rounds a finite f32 below f16's infinity to the bits of the nearest f16, ties to even. Adding 0.5 to a
/// number below 2^-14 rounds it to a multiple of 2^-24, which is in the sum's last bits.
Expr bits_as_f16(const Expr& x) {
  const Expr all = as_bits(x), size = all & word(x, 0x7fffffff);
  const Expr is_odd = (size >> word(x, 13)) & word(x, 1);
  const Expr normal = (size + word(x, 0xfff) + is_odd - word(x, 112 << 23)) >> word(x, 13);
  const Expr small = as_bits(from_bits(size) + real(x, 0.5)) - word(x, 0x3f000000);
  const Expr sign = (all >> word(x, 16)) & word(x, 0x8000);
  return cast_to(UInt(16), select(size < word(x, 0x38800000), small, normal) | sign);
}

/// Rounds an f32 to the bits of a bf16, ties to even. A carry into the exponent is right, up to infinity.
Expr bits_as_bf16(const Expr& x) {
  const Expr all = as_bits(x), is_odd = (all >> word(x, 16)) & word(x, 1);
  const Expr rounded = (all + word(x, 0x7fff) + is_odd) >> word(x, 16);
  const Expr is_nan = (all & word(x, 0x7fffffff)) > word(x, 0x7f800000);
  return cast_to(UInt(16), select(is_nan, word(x, 0x7fc0), rounded));
}

Expr bits_as(Type half, const Expr& x) { return half.is_bfloat() ? bits_as_bf16(x) : bits_as_f16(x); }

class HalfFloatsAsBits : public IRMutator {
  using IRMutator::visit;

  /// Returns the number that a float of 16 bits is.
  Expr widened(const Expr& half) {
    const Expr bits = mutate(half);
    if (half.type().is_bfloat()) return from_bits(cast_to(UInt(32), bits) << word(bits, 16));
    return number_of_f16(bits);
  }

  /// Computes what Halide makes of an operation on two numbers that were widened, and whose result is one of
  /// them or a comparison.
  template <typename Operation>
  Expr choose(const Operation* operation) {
    if (!is_half(operation->a.type())) return IRMutator::visit(operation);
    const Expr chosen = Operation::make(widened(operation->a), widened(operation->b));
    return is_half(operation->type) ? bits_as(operation->type, chosen) : chosen;
  }

  Expr visit(const Min* operation) override { return choose(operation); }
  Expr visit(const Max* operation) override { return choose(operation); }
  Expr visit(const EQ* operation) override { return choose(operation); }
  Expr visit(const NE* operation) override { return choose(operation); }
  Expr visit(const LT* operation) override { return choose(operation); }
  Expr visit(const LE* operation) override { return choose(operation); }
  Expr visit(const GT* operation) override { return choose(operation); }
  Expr visit(const GE* operation) override { return choose(operation); }

  Expr visit(const FloatImm* number) override {
    if (!is_half(number->type)) return number;
    const uint16_t bits = number->type.is_bfloat() ? Halide::bfloat16_t(number->value).to_bits()
                                                   : Halide::float16_t(number->value).to_bits();
    return make_const(UInt(16), bits);
  }

  Expr visit(const Cast* cast) override {
    if (is_half(cast->value.type())) return Halide::cast(cast->type, widened(cast->value));
    const Expr value = mutate(cast->value);
    return is_half(cast->type) ? bits_as(cast->type, value) : Cast::make(cast->type, value);
  }

  Expr visit(const Reinterpret* cast) override {
    return Reinterpret::make(held(cast->type), mutate(cast->value));
  }

  Expr visit(const Load* load) override {
    return Load::make(held(load->type), load->name, mutate(load->index), load->image, load->param,
                      mutate(load->predicate), load->alignment);
  }

  Expr visit(const Variable* variable) override {
    return Variable::make(held(variable->type), variable->name, variable->image, variable->param,
                          variable->reduction_domain);
  }

  /// Lowers what Halide makes of arithmetic on two numbers that were widened.
  Expr visit(const Intrinsic* call) override {
    if (call->is_intrinsic({Intrinsic::widening_mul, Intrinsic::widening_add, Intrinsic::widening_sub}) &&
        is_half(call->args[0].type()))
      return mutate(lower_intrinsic(call));
    if (!is_half(call->type)) return IRMutator::visit(call);
    std::vector<Expr> arguments;
    for (const Expr& argument : call->args) arguments.push_back(mutate(argument));
    return Intrinsic::make(held(call->type), call->name, arguments, call->call_type, call->func,
                           call->value_index, call->image, call->param);
  }

  Stmt visit(const Allocate* allocation) override {
    std::vector<Expr> extents;
    for (const Expr& extent : allocation->extents) extents.push_back(mutate(extent));
    return Allocate::make(allocation->name, held(allocation->type), allocation->memory_type, extents,
                          mutate(allocation->condition), mutate(allocation->body), allocation->new_expr,
                          allocation->free_function, allocation->padding);
  }
};

}  // namespace

void hold_half_floats_as_bits(Halide::Pipeline& pipeline) {
  pipeline.add_custom_lowering_pass(new HalfFloatsAsBits);
}

}  // namespace intarsia::halide
