// Which operators take long.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Products, convolutions, attention, recurrences: what takes long beside a hand-over to another executor. By
/// their names, convolutions and TensorFlow's products, too.
bool is_work(const Node& node);

}  // namespace intarsia
