// Which integers choose elements of another tensor.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace intarsia {

/// Of each value, by its number: the size of the smallest axis along which its elements choose others, as the
/// indices of a Gather do; 0: none is known. Indices may be moved and cast on their way, not computed with.
std::vector<int64_t> index_limits(const Graph& graph);

}  // namespace intarsia
