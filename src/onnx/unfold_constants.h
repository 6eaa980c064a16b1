// Quantized constants as the source has them.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// The graph with constants that come from dequantized ones (Value::folded) made by the nodes of the source
/// again.   const %w : f32[4] = {...}   ->   const %q : i8[4] = {...}; %w = DequantizeLinear(%q, %scale)
Graph unfold_constants(const Graph& graph);

}  // namespace intarsia
