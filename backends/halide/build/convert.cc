// Halide's simplifier makes one cast out of two without regard to what the first does to the number: f32 to
// i32 to u8 becomes f32 to u8, which saturates where the chain wraps. Therefore a cast of a float is inside a
// select here, which the simplifier keeps.
//
// The select also settles what LLVM leaves open: LLVM does not define what a float beyond the range of an
// integer becomes, and may assume that the operand of a cast between floats is a finite number and stays one.
#include "backends/halide/build/convert.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace intarsia::halide {
namespace {

using Halide::cast;
using Halide::Expr;
using Halide::select;
using Halide::Type;
using Halide::Internal::make_const;

/// Returns the largest number of a float type that an integer type holds.
double largest_whole(Type integer, Type real) {
  const int bits = integer.bits() - (integer.is_int() ? 1 : 0), precision = real.bits() == 64 ? 53 : 24;
  return std::ldexp(1.0, bits) - std::ldexp(1.0, std::max(bits - precision, 0));
}

/// Converts a float with saturation to the range of `to`; the result has type `wide`, which is `to` or holds
/// all its numbers.
Expr saturated(Type to, Type wide, const Expr& x) {
  const Expr greatest = cast(wide, to.max()), least = cast(wide, to.min());
  const Expr above = x > make_const(x.type(), largest_whole(to, x.type()));
  if (to.is_uint()) return select(above, greatest, x > make_const(x.type(), 0), cast(wide, x), least);
  const double lowest = -std::ldexp(1.0, to.bits() - 1);
  return select(above, greatest, x < make_const(x.type(), lowest), least, Halide::is_nan(x),
                make_const(wide, 0), cast(wide, x));
}

Expr float_to_integer(Type to, const Expr& x) {
  if (to.bits() >= 32) return saturated(to, to, x);
  return cast(to, saturated(to, Halide::Int(32), x));  // selects are as wide as what is compared
}

/// Returns the least number that a float type rounds to infinity: half a unit above its largest one.
double overflow_of(Type type) {
  if (type.is_bfloat()) return std::ldexp(1.0, 128) - std::ldexp(1.0, 119);
  if (type.bits() == 16) return 65520;
  return type.bits() == 32 ? std::ldexp(1.0, 128) - std::ldexp(1.0, 103)
                           : std::numeric_limits<double>::infinity();
}

/// Rounds an f64 to an f32 whose last bit is set unless the f32 is exact: rounding it again to fewer bits
/// gives what rounding the f64 gives (Boldo, Melquiond 2008).
Expr round_to_odd(const Expr& x) {
  const Expr near = cast(Halide::Float(32), x);
  const Expr bits = Halide::reinterpret(Halide::Int(32), near);
  const Expr error = x - cast(Halide::Float(64), near);
  const Expr beyond = select((error > 0) == (x > 0), bits + 1, bits - 1);
  const Expr is_kept = error == 0 || (bits & 1) == 1;
  return Halide::reinterpret(Halide::Float(32), select(is_kept, bits, beyond));
}

/// Rounds an f32 to its upper half, ties to even. A carry into the exponent is right, up to infinity.
Expr round_to_bf16(const Expr& x) {
  const Expr bits = Halide::reinterpret(Halide::UInt(32), x);
  const Expr rounded = cast(Halide::UInt(16), (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  return Halide::reinterpret(Halide::BFloat(16),
                             select(Halide::is_nan(x), make_const(Halide::UInt(16), 0x7fc0), rounded));
}

Expr float_to_float(Type to, const Expr& x) {
  const Type from = x.type();
  if (to.is_bfloat() && from.bits() == 32) return round_to_bf16(x);
  const double limit = to.bits() < from.bits() ? overflow_of(to) : std::numeric_limits<double>::infinity();
  const Expr rounded = cast(to, to.bits() == 16 && from.bits() == 64 ? round_to_odd(x) : x);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const Expr infinity = make_const(to, infinite), least = make_const(to, -infinite);
  const Expr zero = make_const(from, 0);
  return select(Halide::abs(x) < make_const(from, limit), rounded, x > zero, infinity, x < zero, least,
                make_const(to, std::numeric_limits<double>::quiet_NaN()));
}

/// Widens an f16. LLVM may assume that what a cast widens is a finite number, so that others are made of
/// their bits.
Expr widened_f16(const Expr& x) {
  const Expr bits = cast(Halide::UInt(32), Halide::reinterpret(Halide::UInt(16), x));
  const Expr infinity_or_nan = (bits & 0x8000) << 16 | 0x7f800000 | (bits & 0x3ff) << 13;
  return select((bits & 0x7c00) == 0x7c00, Halide::reinterpret(Halide::Float(32), infinity_or_nan),
                cast(Halide::Float(32), x));
}

bool is_real(Type type) { return type.is_float() || type.is_bfloat(); }
bool is_half_float(Type type) { return is_real(type) && type.bits() == 16; }

}  // namespace

Expr convert(Type to, const Expr& x) {
  const Type from = x.type();
  if (to == from) return x;
  if (is_half_float(from)) return convert(to, from.is_bfloat() ? cast(Halide::Float(32), x) : widened_f16(x));
  if (is_half_float(to) && !is_real(from))
    return convert(to, cast(Halide::Float(from.bits() > 16 ? 64 : 32), x));
  if (to.is_bool()) return x != Halide::Internal::make_zero(from);
  if (from.is_float() && is_real(to)) return float_to_float(to, x);
  if (from.is_float()) return float_to_integer(to, x);
  return cast(to, x);
}

Expr round_pairs_to_bf16(const Expr& x) {
  // Halide has the function for vectors of 32, under this name and "x32".
  return Halide::Internal::Call::make(Halide::BFloat(16), "vcvtne2ps2bf16", {x},
                                      Halide::Internal::Call::PureExtern);
}

}  // namespace intarsia::halide
