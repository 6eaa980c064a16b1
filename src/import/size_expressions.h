// Size expressions. Exporters write sizes that depend on others into a size's name: "past_sequence_length +
// 1".
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Turns names of sizes that are expressions over sizes of the graph's inputs into these expressions; all
/// other names stay.
//   input %past : f32[batch,past], input %mask : i64[batch,"past + 1"]   ->   input %mask : i64[batch,past+1]
void read_size_expressions(Graph& graph);

}  // namespace intarsia
