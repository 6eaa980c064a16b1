// Open size that counts the items of a batch.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Returns the open size that counts items, by its name ("batch", "N") or else by its place, the first axis
/// of inputs; null if there is none.
const OpenSize* find_batch(const Graph& graph);

}  // namespace intarsia
