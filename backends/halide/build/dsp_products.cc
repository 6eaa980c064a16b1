#include "backends/halide/build/dsp_products.h"

#include <string>
#include <vector>

namespace intarsia::halide {
namespace {

using Halide::Expr;
using Intrinsic = Halide::Internal::Call;

/// Returns a word of neighbors, the first one in its lowest bits; LLVM makes one load of those in memory.
Expr word_of(const std::vector<Expr>& parts) {
  const int bits = parts[0].type().bits();
  Expr word = Halide::cast<uint32_t>(Halide::reinterpret(Halide::UInt(bits), parts[0]));
  for (size_t i = 1; i < parts.size(); ++i)
    word = word | Halide::cast<uint32_t>(Halide::reinterpret(Halide::UInt(bits), parts[i]))
                      << static_cast<uint32_t>(bits * static_cast<int>(i));
  return Halide::reinterpret<int32_t>(word);
}

Expr instruction(const std::string& name, const std::vector<Expr>& arguments) {
  return Intrinsic::make(Halide::Int(32), "llvm.arm." + name, arguments, Intrinsic::PureExtern);
}

/// Returns a * b + c, rounded once.
Expr multiply_add(const Expr& a, const Expr& b, const Expr& c) {
  return Intrinsic::make(Halide::Float(32), "llvm.fma.f32", {a, b, c}, Intrinsic::PureExtern);
}

Expr rotated(const Expr& word, uint32_t bits) {
  const Expr u = Halide::reinterpret<uint32_t>(word);
  return Halide::reinterpret<int32_t>((u >> bits) | (u << (32 - bits)));
}

}  // namespace

Expr dsp_channel(const Expr& c) { return c / dsp_integers * dsp_integers + c % 2 * 2 + c / 2 % 2; }

Expr add_dsp_products(const Expr& sum, const std::vector<Expr>& x, const std::vector<Expr>& w) {
  const Expr word = word_of(w);
  const Expr first = instruction("smlad", {word_of({x[0], x[1]}), instruction("sxtb16", {word}), sum});
  return instruction("smlad", {word_of({x[2], x[3]}), instruction("sxtb16", {rotated(word, 8)}), first});
}

Expr add_vector_products(const Expr& sum, const std::vector<Expr>& x, const std::vector<Expr>& w) {
  std::vector<Expr> arguments{sum};
  for (size_t i = 0; i < x.size(); i += 2) arguments.push_back(word_of({x[i], x[i + 1]}));
  for (const Expr& weight : w) arguments.push_back(Halide::cast<int16_t>(weight));
  return Intrinsic::make(Halide::Int(32), "intarsia_add_products", arguments, Intrinsic::PureExtern);
}

Expr held_in_register(const Expr& sum) {
  return Intrinsic::make(Halide::Int(32), "intarsia_hold", {sum}, Intrinsic::PureExtern);
}

Expr pair_of(const Expr& first, const Expr& second) { return word_of({first, second}); }

Expr add_pair_product(const Expr& sum, const Expr& x, const Expr& w) {
  return sum.defined() ? instruction("smlad", {x, w, sum}) : instruction("smuad", {x, w});
}

Expr add_half_product(const Expr& sum, const HalfWord& x, const HalfWord& w) {
  constexpr char halves[] = {'b', 't'};
  const std::string of_halves{halves[x.half], halves[w.half]};
  return sum.defined() ? instruction("smla" + of_halves, {x.word, w.word, sum})
                       : instruction("smul" + of_halves, {x.word, w.word});
}

Expr in_register(const Expr& x) {
  const Expr least = Halide::cast<int32_t>(x.type().min());
  return Intrinsic::make(Halide::Int(32), "llvm.smax.i32", {Halide::cast<int32_t>(x), least},
                         Intrinsic::PureExtern);
}

Expr quotient(const Expr& x, const Expr& divisor) {
  const Expr inverse = 1.0F / divisor, near = x * inverse;
  const Expr rest = multiply_add(near, -divisor, x);
  return multiply_add(rest, inverse, near);
}

Expr round_to_word(const Expr& x) {
  return Halide::reinterpret<int32_t>(
      Intrinsic::make(Halide::Float(32), "llvm.arm.vcvtr.f32", {x}, Intrinsic::PureExtern));
}

Expr add_saturating(const Expr& a, const Expr& b) {
  if (Halide::Internal::is_const_zero(b)) return a;
  return instruction("qadd", {a, b});
}

Expr saturate_word(const Expr& word, Halide::Type type) {
  return instruction(type.is_uint() ? "usat" : "ssat", {word, type.bits()});
}

}  // namespace intarsia::halide
