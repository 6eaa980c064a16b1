// Restoring of quantized constants as the source has them.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Returns the graph in which nodes of the source make the constants that come from dequantized ones
/// (Value::folded).
///   const %w : f32[4] = {...}   ->   const %q : i8[4] = {...}; %w = DequantizeLinear(%q, %scale)
Graph unfold_constants(const Graph& graph);

}  // namespace intarsia
