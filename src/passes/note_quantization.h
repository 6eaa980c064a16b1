// Meaning of quantized values.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Sets Value::quantization of integers that QuantizeLinear or a QLinear operator makes, and of those that
/// DequantizeLinear or a QLinear operator reads, where scale and zero point are constants. Nothing else in
/// the graph changes, and regions cut out of it keep these notes.
///   %q = QuantizeLinear(%x, 0.5, 128)   ->   %q stands for 0.5 * (q - 128)
void note_quantization(Graph& graph);

}  // namespace intarsia
