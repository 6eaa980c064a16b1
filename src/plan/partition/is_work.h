// Operators that take long.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Checks whether the node is a product, convolution, attention or recurrence: what takes long compared to a
/// hand-over to another executor. Foreign operators, such as TensorFlow's, are known by their names.
bool is_work(const Node& node);

}  // namespace intarsia
