// Sums of dot products of integers of 8 bits, by functions that have the instruction (emit/dot_tiles.c), for
// processors for which Halide cannot generate it.
#pragma once

#include <Halide.h>

#include <string>

namespace intarsia::halide {

/// Replaces the loops that update `sums`, a function of (channel, pixel, ...), by calls. The update adds
/// products of u8 that depend on the pixel and i8 that depend on the channel; its innermost loop is over the
/// four neighbors of a dot product. The channels are those of whole vectors of `vector_bytes`.
void call_dot_tiles(Halide::Pipeline& pipeline, const std::string& sums, int vector_bytes);

}  // namespace intarsia::halide
