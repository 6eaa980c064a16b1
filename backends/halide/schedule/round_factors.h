// Values that products on tile registers read, with 16 bits in memory.
#pragma once

#include "backends/halide/schedule/isa.h"
#include "graph/graph.h"

namespace intarsia::halide {

/// Makes the factors of products of f32 bf16 where tile registers (AMX) multiply them: weights known at
/// compile time, and values of the region, which then take half of the memory's time. So are values that do
/// not stay in the cache and that a depthwise convolution reads, whose weights stay f32. What else reads such
/// a value widens it. Outputs of the region stay as they are.
void round_factors(Graph& graph, const Isa& isa);

}  // namespace intarsia::halide
