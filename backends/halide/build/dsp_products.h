// Products of integers on processors of microcontrollers, whose instructions multiply two pairs of integers
// of 16 bits in registers and add both products to a sum (SMLAD).
#pragma once

#include <Halide.h>

#include <array>

namespace intarsia::halide {

/// Integers that are multiplied at once, side by side in memory.
inline constexpr int dsp_integers = 4;

/// Returns the channel that has place `c` where neighbors lie as weights of a word are widened: the first and
/// the third of four together, then the others (SXTB16).
Halide::Expr dsp_channel(const Halide::Expr& c);

/// Returns sum + x[0] w[0] + ... for neighbors of i16, in the order of dsp_channel(), and of i8. Only Clang's
/// target for microcontrollers knows the code.
Halide::Expr add_dsp_products(const Halide::Expr& sum, const std::array<Halide::Expr, dsp_integers>& x,
                              const std::array<Halide::Expr, dsp_integers>& w);

}  // namespace intarsia::halide
