// Sums of products in the tile registers of Advanced Matrix Extensions (AMX; Intel's Architecture Instruction
// Set Extensions Programming Reference, chapter 3).
#pragma once

#include <Halide.h>

#include <string>

namespace intarsia::halide {

/// Packs two numbers of f32, rounded to bf16, in 32 bits, as the second factor of a product has neighbors
/// along the depth.
Halide::Expr pack_pair(const Halide::Expr& first, const Halide::Expr& second);

/// Replaces the loops that update `sums`, a function of (channel, pixel, ...), by instructions on tiles. Its
/// pure definition is undefined; its update adds products of a factor that depends on the pixel and one that
/// depends on the channel, and its loops are, the innermost first: the neighbors of a dot product, the 16
/// dot products of a tile along the depth, channels, pixels, and any others of the reduction. Channels and
/// pixels are those of equal tiles.
void multiply_on_amx(Halide::Pipeline& pipeline, const std::string& sums);

}  // namespace intarsia::halide
