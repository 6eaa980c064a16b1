// Convolutions of few channels, such as those of colors, whose depth tile registers cannot fill.
#pragma once

#include "backends/halide/schedule/isa.h"
#include "graph/graph.h"

namespace intarsia::halide {

/// Makes the taps along the last axis of such convolutions part of their depth (ConvAttributes::unfolded), if
/// they then suit tile registers (AMX); those of f32 only where `rounds_to_bf16`.
void unfold_taps(Graph& graph, const Isa& isa, bool rounds_to_bf16);

}  // namespace intarsia::halide
