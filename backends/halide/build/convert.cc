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

Expr float_to_float(Type to, const Expr& x) {
  // Numbers that are not less round to infinity.
  const double limit = to.bits() < x.type().bits() ? std::ldexp(1.0, 128) - std::ldexp(1.0, 103)
                                                   : std::numeric_limits<double>::infinity();
  const Expr infinity = make_const(to, std::numeric_limits<double>::infinity());
  const Expr zero = make_const(x.type(), 0);
  return select(Halide::abs(x) < make_const(x.type(), limit), cast(to, x), x > zero, infinity, x < zero,
                -infinity, make_const(to, std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace

Expr convert(Type to, const Expr& x) {
  const Type from = x.type();
  if (to == from) return x;
  if (to.is_bool()) return x != Halide::Internal::make_zero(from);
  if (from.is_float() && to.is_float()) return float_to_float(to, x);
  if (from.is_float()) return float_to_integer(to, x);
  return cast(to, x);
}

}  // namespace intarsia::halide
