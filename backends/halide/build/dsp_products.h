// Arithmetic of microcontrollers. With integers in general registers: products of two pairs of 16 bits that
// are added to a sum (SMLAD), and sums that saturate; only Clang's targets with these instructions know the
// code. With vectors (Helium): products by a general register, sums of products in one, and quotients, which
// have no instruction.
#pragma once

#include <Halide.h>

#include <vector>

namespace intarsia::halide {

/// Integers that are multiplied at once, side by side in memory.
inline constexpr int dsp_integers = 4;

/// Returns the channel that has place `c` where neighbors lie as weights of a word are widened: the first and
/// the third of four together, then the others (SXTB16).
Halide::Expr dsp_channel(const Halide::Expr& c);

/// Returns sum + x[0] w[0] + ... for neighbors of i16, in the order of dsp_channel(), and of i8.
Halide::Expr add_dsp_products(const Halide::Expr& sum, const std::vector<Halide::Expr>& x,
                              const std::vector<Halide::Expr>& w);

/// Returns sum + x[0] w[0] + ... for eight neighbors of i16 and of i8, by one instruction for all. Halide has
/// no functions of vectors: this one's name is known to build/thumb_code.cc.
Halide::Expr add_vector_products(const Halide::Expr& sum, const std::vector<Halide::Expr>& x,
                                 const std::vector<Halide::Expr>& w);
/// Returns the sum. Without this, LLVM keeps sums that are an output's vector in a vector, and moves each to
/// a general register and back for its products.
Halide::Expr held_in_register(const Halide::Expr& sum);

/// Returns a word of two integers of 16 bits, the first one in its lower half.
Halide::Expr pair_of(const Halide::Expr& first, const Halide::Expr& second);
/// Returns the sum, if there is one, and both products of the halves of two words.
Halide::Expr add_pair_product(const Halide::Expr& sum, const Halide::Expr& x, const Halide::Expr& w);

/// Integer of 16 bits in a half of a word: 0 is the lower one.
struct HalfWord {
  Halide::Expr word;
  int half;
};
/// Returns the sum, if there is one, and a product of halves.
Halide::Expr add_half_product(const Halide::Expr& sum, const HalfWord& x, const HalfWord& w);

/// Returns an integer of 16 bits in 32, of which Halide does not know that it has fewer: an instruction
/// multiplies a vector by it.
Halide::Expr in_register(const Halide::Expr& x);

/// Returns the quotient of two finite f32, rounded: of the product with the inverse, of which what is left is
/// divided once more. Source: P. Markstein, "Computation of elementary functions on the IBM RISC System/6000
/// processor", IBM Journal of Research and Development 34, 1990.
Halide::Expr quotient(const Halide::Expr& x, const Halide::Expr& divisor);

/// Rounds an f32 to the nearest integer, ties to even; NaN becomes 0, and what is too large the largest.
Halide::Expr round_to_word(const Halide::Expr& x);
/// Returns the sum of two integers of 32 bits, or the largest or least one.
Halide::Expr add_saturating(const Halide::Expr& a, const Halide::Expr& b);
/// Returns the nearest integer of 32 bits that a type of fewer has, too.
Halide::Expr saturate_word(const Halide::Expr& word, Halide::Type type);

}  // namespace intarsia::halide
