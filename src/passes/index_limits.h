// Limits of integers that choose elements of another tensor.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace intarsia {

/// Returns, for each value by number, the size of the smallest axis along which its elements choose others,
/// like the indices of a Gather; 0 if none is known. Follows indices that are moved and cast on their way,
/// but not those computed with.
std::vector<int64_t> index_limits(const Graph& graph);

}  // namespace intarsia
