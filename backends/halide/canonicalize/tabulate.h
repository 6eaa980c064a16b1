// Tables of functions of 8 bits.
#pragma once

#include "graph/graph.h"

namespace intarsia::halide {

/// Computes an expensive function of an integer of 8 bits once for each of the 256 integers, and then looks
/// its values up. Quantized networks consist of such functions: each elementwise operator between two
/// quantizations is one.
///   %y : u8[1,128,3072] = Quantize(Erf(Dequantize(%x : u8[1,128,3072])))
///   ->  %t : u8[256] = Quantize(Erf(Dequantize([0, 1, ... 255])));  %y = Gather(%t, %x)
void tabulate(Graph& graph);

}  // namespace intarsia::halide
