// Hoisting of strides: a value whose readers all skip the same pixels is computed only at the others.
//   x = relu(conv(a) + b); conv 1x1, stride 2 (x)  ->  x = relu(conv, stride 2 (a) + b[::2]); conv 1x1 (x)
// The first blocks of the stages of residual nets have this form.
#pragma once

#include "graph/graph.h"

namespace intarsia::halide {

void hoist_strides(Graph& graph);

}  // namespace intarsia::halide
